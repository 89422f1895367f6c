"""What languages, package managers and build tools can be used for. One line, one reason."""

from __future__ import annotations

from harness.core.permissions.uses import Entry, Kind

_INSTALL = "runs the set-up code of any package"
_LOCAL_CODE = "runs the workspace's code, and arguments can name other code"

DEVELOPMENT: tuple[Entry, ...] = (
    # Interpreters.
    Entry(
        "python python2 python3 pypy pypy3 ipython bpython",
        Kind.ANY_CODE,
        "runs any code after -c",
        operand=Kind.RUNS_FILE,
        flags="-u -B -I -s -E -S -O -OO -b -q",
    ),
    Entry("python|python2|python3|pypy: -m", Kind.ANY_CODE, "runs any module", runs=Kind.BROAD),
    Entry("python -m|python3 -m: json.tool", Kind.OVERWRITES, "writes any file"),
    Entry("python -m|python3 -m: http.server", Kind.SENDS, "serves every file"),
    Entry("python -m|python3 -m: venv ensurepip", Kind.DAMAGES, "writes programs anywhere"),
    Entry("python -m|python3 -m: unittest doctest", Kind.TESTS, _LOCAL_CODE),
    Entry("python -m|python3 -m: timeit pdb code profile cProfile trace runpy idlelib",
          Kind.ANY_CODE, "runs any code"),
    Entry("python -m|python3 -m: tarfile zipfile zipapp gzip", Kind.OVERWRITES, "writes any file"),
    Entry("python -m|python3 -m: compileall py_compile", Kind.CHANGES, "writes caches"),
    Entry("python -m|python3 -m: this platform site sysconfig", Kind.HARMLESS, "shows facts"),
    Entry(
        "node nodejs ts-node tsx esno babel-node qjs",
        Kind.ANY_CODE,
        "runs any code after -e",
        operand=Kind.RUNS_FILE,
    ),
    Entry(
        "perl ruby php lua luajit Rscript julia groovy scala elixir escript guile "
        "racket clojure clj swift osh tclsh wish octave",
        Kind.ANY_CODE,
        "runs any code after -e or the like",
        operand=Kind.RUNS_FILE,
    ),
    Entry(
        "R ghci ocaml sbcl clisp erl iex irb pry jshell kotlin kotlinc java jrunscript jjs "
        "dart mono gforth gst",
        Kind.ANY_CODE,
        "runs any code",
    ),
    # Python's tools.
    Entry("pip pip3 pipx pipenv", Kind.FETCHES, _INSTALL),
    Entry("pip|pip3: install download wheel", Kind.FETCHES, _INSTALL),
    Entry("pip|pip3: list show freeze check", Kind.TESTS, "runs the interpreter of --python"),
    Entry("pip|pip3: uninstall", Kind.DAMAGES, "removes packages"),
    Entry("pip|pip3: config cache debug", Kind.CHANGES, "changes where packages come from"),
    Entry("pipx: run install inject", Kind.FETCHES, _INSTALL),
    Entry("uv", Kind.FETCHES, "runs any program and the set-up code of any package"),
    Entry("uv: run", Kind.FETCHES, "runs any program", runs=Kind.TESTS),
    Entry("uv: sync lock add pip tool build venv", Kind.FETCHES, _INSTALL),
    Entry("uvx", Kind.FETCHES, "fetches and runs code from the registry"),
    Entry("poetry pdm hatch rye conda mamba micromamba pixi", Kind.FETCHES, _INSTALL),
    Entry("poetry|pdm|hatch|rye|conda|pixi: run", Kind.ANY_CODE, "runs any", runs=Kind.TESTS),
    Entry("poetry|pdm: show version check", Kind.BROAD, "loads plug-ins of the project"),
    Entry("easy_install", Kind.FETCHES, _INSTALL),
    Entry(
        "pytest py.test",
        Kind.TESTS,
        "runs workspace code (conftest.py), and -p loads any module",
    ),
    Entry("nose2 nosetests unittest nox behave robot locust", Kind.TESTS, _LOCAL_CODE),
    Entry("django-admin flask uvicorn gunicorn celery alembic scrapy tox coverage pylint",
          Kind.BUILDS, "runs any code that an argument holds"),
    Entry("black isort autopep8 yapf autoflake pyupgrade", Kind.DAMAGES, "rewrites any source"),
    Entry("ruff", Kind.DAMAGES, "rewrites any source and writes any file with --output-file"),
    Entry("mypy pyright flake8 bandit pyre", Kind.TESTS, "loads plug-ins of the workspace"),
    Entry("sphinx-build mkdocs jupyter nbconvert ipykernel", Kind.BUILDS, "runs code of the docs"),
    Entry("pre-commit lefthook husky lint-staged", Kind.FETCHES, "fetches and runs hooks"),
    # JavaScript's tools.
    Entry("npm", Kind.FETCHES, "has exec, install scripts and publish", flags="--silent -s"),
    Entry("npm: exec x init create", Kind.FETCHES, "fetches and runs code from the registry"),
    Entry("npm: install i add ci update rebuild link audit dedupe", Kind.FETCHES, _INSTALL),
    Entry("npm: publish unpublish deprecate dist-tag owner access team", Kind.CHANGES_REMOTE,
          "changes the registry"),
    Entry("npm: config set pkg explore edit", Kind.ANY_CODE, "sets what later calls run"),
    Entry("npm: run run-script rum urn", Kind.TESTS, "runs any script in package.json"),
    Entry("npm: test t tst start stop restart", Kind.TESTS, _LOCAL_CODE),
    Entry("npm: pack version uninstall prune shrinkwrap cache", Kind.DAMAGES, "changes files"),
    Entry("npm: ls list ll la why explain root prefix", Kind.BROAD, "shows packages"),
    Entry("npm: outdated view info show search ping", Kind.SENDS, "asks any registry"),
    Entry("npm: whoami token login logout adduser profile", Kind.CHANGES_REMOTE, "uses the login"),
    Entry("npx bunx pnpx", Kind.FETCHES, "fetches and runs registry code"),
    Entry("yarn pnpm bun", Kind.FETCHES, "has dlx, install scripts and publish"),
    Entry("yarn|pnpm|bun: run test start build lint", Kind.TESTS, _LOCAL_CODE),
    Entry("yarn|pnpm: why list outdated info", Kind.BROAD, "shows packages"),
    Entry("deno", Kind.FETCHES, "runs any code of any address"),
    Entry("deno: fmt", Kind.DAMAGES, "rewrites sources"),
    Entry("deno: lint check doc info", Kind.SENDS, "fetches what sources import"),
    Entry("corepack nvm fnm volta n asdf mise rtx proto pyenv rbenv sdk", Kind.FETCHES,
          "installs and runs programs"),
    Entry("jest cypress playwright", Kind.TESTS, _LOCAL_CODE),
    Entry("vitest mocha ava karma tap", Kind.BUILDS, "hands options with code on to node"),
    Entry("webpack vite rollup esbuild parcel turbo nx lerna gulp grunt rush swc next nuxt astro "
          "remix gatsby eleventy hexo storybook expo ng vue-cli-service", Kind.BUILDS,
          "runs the workspace's configuration as code, and other files by argument"),
    Entry("tsc", Kind.OVERWRITES, "writes where --outFile says"),
    Entry("eslint prettier stylelint biome standard xo", Kind.TESTS,
          "runs configuration of the workspace as code and rewrites sources"),
    # Compilers and build tools.
    Entry("make gmake bmake nmake remake", Kind.BUILDS, "runs any code with --eval"),
    Entry("cmake ctest cpack ninja meson scons waf bazel bazelisk buck buck2 pants please ant "
          "gradle gradlew mvn mvnw sbt lein boot mill msbuild xcodebuild xcrun b2 autoconf "
          "automake configure autoreconf libtool qmake premake tup redo",
          Kind.BUILDS, "runs any program that an argument names"),
    Entry("just task mage rake invoke fab doit thor jake mask", Kind.BUILDS,
          "runs any code that an argument or another file holds"),
    Entry("gcc g++ cc c++ clang clang++ ld as nasm tcc gfortran rustc javac ghc nim zig "
          "crystal v fpc dmd ldc2 swiftc csc vbc cl", Kind.ANY_CODE,
          "writes any file, and runs programs and plug-ins that arguments name"),
    Entry("go", Kind.ANY_CODE, "has run, generate and -exec"),
    Entry("go: run", Kind.ANY_CODE, "runs a file the agent can write", operand=Kind.RUNS_FILE),
    Entry("go: test vet", Kind.BUILDS, "runs any program with -exec or -vettool"),
    Entry("go: build install generate get mod work tool clean fix bug", Kind.BUILDS,
          "runs programs that arguments name, with -toolexec"),
    Entry("go: env", Kind.ANY_CODE, "sets what later calls run with -w"),
    Entry("go: fmt", Kind.DAMAGES, "rewrites sources"),
    Entry("go: list", Kind.BUILDS, "runs programs with -toolexec"),
    Entry("go: version doc help", Kind.HARMLESS, "shows facts"),
    Entry("gofmt goimports golangci-lint gopls dlv staticcheck", Kind.DAMAGES, "rewrites sources"),
    Entry("cargo", Kind.BUILDS, "runs build scripts of any crate, and programs by --config"),
    Entry("cargo: install binstall", Kind.FETCHES, "runs build.rs of any crate"),
    Entry("cargo: run r test t build b check c clippy bench doc rustc fix nextest miri expand",
          Kind.BUILDS, "runs build scripts, and any program by --config"),
    Entry("cargo: publish yank owner login", Kind.CHANGES_REMOTE, "changes the registry"),
    Entry("cargo: fmt clean add remove update", Kind.BUILDS, "runs any program by --config"),
    Entry("rustup", Kind.FETCHES, "installs and runs toolchains"),
    Entry("rustfmt clang-format clang-tidy swiftformat ktlint google-java-format stylua shfmt buf",
          Kind.DAMAGES, "rewrites any file"),
    Entry("gem bundle bundler rails rspec jekyll cocoapods pod fastlane", Kind.FETCHES, _INSTALL),
    Entry("composer phpunit artisan pecl pear phar drush wp", Kind.FETCHES, _INSTALL),
    Entry("dotnet nuget paket", Kind.FETCHES, "runs the workspace's code and fetches packages"),
    Entry("mix rebar3 hex stack cabal opam esy dune luarocks cpan cpanm cpm nimble shards dub "
          "raco spago elm pub flutter melos", Kind.FETCHES, _INSTALL),
    Entry("apt apt-get aptitude dpkg dnf yum rpm zypper pacman yay paru apk brew port snap "
          "flatpak nix nix-shell nix-env nix-build guix emerge xbps-install pkg choco scoop "
          "winget cargo-binstall eget ubi aqua", Kind.FETCHES, "installs programs"),
    Entry("apt-cache dpkg-query", Kind.BROAD, "shows packages"),
    Entry("shellcheck hadolint yamllint tokei loc", Kind.READS, "shows lines of any file"),
    Entry("actionlint cloc", Kind.ANY_CODE, "runs a program that an argument names"),
    Entry("jsonlint codespell typos scc", Kind.DAMAGES, "rewrites or writes any file"),
    Entry("markdownlint markdownlint-cli2 cspell vale", Kind.TESTS, "loads code of the workspace"),
    Entry("protoc flatc thrift openapi-generator swagger-codegen graphql-codegen prisma sqlc "
          "drizzle-kit knex sequelize typeorm", Kind.BUILDS, "runs plug-ins that arguments name"),
    Entry("latex pdflatex xelatex lualatex latexmk tex bibtex typst", Kind.ANY_CODE,
          "runs programs with --shell-escape and writes files"),
    Entry("convert magick mogrify ffmpeg ffprobe sox gs inkscape soffice libreoffice dot "
          "wkhtmltopdf chromium google-chrome firefox", Kind.OVERWRITES,
          "writes any file and reads any address"),
)  # fmt: skip
