"""What common system programs can be used for. One line, one reason."""

from __future__ import annotations

from harness.core.permissions.uses import Entry, Kind

SYSTEM: tuple[Entry, ...] = (
    # Shells, and programs that run what follows them.
    Entry(
        "bash sh zsh dash ksh mksh ash fish csh tcsh rbash pwsh powershell cmd nu xonsh elvish",
        Kind.ANY_CODE,
        "runs any code that is given after -c or on standard input",
        operand=Kind.RUNS_FILE,
        flags="-e -u -x -eu -eux --norc --noprofile",
    ),
    Entry("busybox toybox", Kind.ANY_CODE, "contains a shell"),
    Entry("eval", Kind.ANY_CODE, "runs its arguments as code"),
    Entry("source .", Kind.ANY_CODE, "runs a file the agent can write", operand=Kind.RUNS_FILE),
    Entry("trap", Kind.ANY_CODE, "runs its argument when the shell ends"),
    Entry("alias bind complete enable hash", Kind.ANY_CODE, "changes what later commands run"),
    Entry("set shopt unset ulimit umask", Kind.CHANGES, "changes how the shell goes on"),
    Entry("exec builtin command", Kind.ANY_CODE, "runs any program", runs=Kind.HARMLESS),
    Entry(
        "sudo doas su pkexec run0 runuser sudoedit",
        Kind.ANY_CODE,
        "runs any program as another user",
        runs=Kind.DAMAGES,
    ),
    Entry(
        "xargs arch stdbuf setsid ionice taskset chrt unbuffer catchsegv caffeinate setarch",
        Kind.ANY_CODE,
        "runs any program",
        runs=Kind.BROAD,
    ),
    Entry(
        "parallel watch entr flock script strace ltrace gdb lldb valgrind perf ld.so expect "
        "chroot unshare nsenter bwrap firejail runcon systemd-run systemd-nspawn at batch "
        "start-stop-daemon daemonize tmux screen dtach abduco zellij run-parts coproc rlwrap "
        "faketime proot fakeroot eatmydata hyperfine nodemon watchexec watchman chronic jc nyc c8",
        Kind.ANY_CODE,
        "runs any program that its arguments name",
    ),
    Entry("crontab", Kind.CONTROLS, "runs what it is given, again and again, outside the run"),
    # Languages that live in one argument, editors, pagers.
    Entry("awk gawk mawk nawk", Kind.ANY_CODE, "has system() and writes files"),
    Entry("sed gsed", Kind.ANY_CODE, "runs programs with e and writes files with w and -i"),
    Entry("ed ex red", Kind.ANY_CODE, "runs programs with ! and writes files"),
    Entry(
        "vim vi nvim view vimdiff rvim emacs emacsclient nano pico micro helix hx kak joe jed "
        "code cursor windsurf subl zed",
        Kind.ANY_CODE,
        "is an editor: it runs programs and writes files",
    ),
    Entry("less more most pg man info zless", Kind.ANY_CODE, "has escapes to a shell"),
    Entry("m4 bc dc gnuplot sc", Kind.ANY_CODE, "runs programs from its own language"),
    Entry("pandoc groff troff nroff", Kind.OVERWRITES, "runs filters and writes any file"),
    # Files: writing, moving, deleting.
    Entry(
        "cp mv install tee dd ln link cpio pax patch sponge",
        Kind.OVERWRITES,
        "can put a file of the agent's over the CLI's configuration or a shell's start file",
    ),
    Entry("rsync", Kind.ANY_CODE, "runs any program with -e and copies any file anywhere"),
    Entry("sort shuf uniq", Kind.OVERWRITES, "writes any file that it is told to"),
    Entry("split csplit", Kind.OVERWRITES, "writes files of any name; split --filter runs code"),
    Entry(
        "xxd uudecode base64 iconv xsv qsv htmlq xmllint",
        Kind.OVERWRITES,
        "writes any file that it is told to",
    ),
    Entry("sdiff", Kind.OVERWRITES, "writes any file with -o"),
    Entry(
        "tar bsdtar gtar",
        Kind.ANY_CODE,
        "runs a compression program that an argument names, and unpacks over any file",
    ),
    Entry(
        "zip unzip 7z 7za 7zr rar unrar ar cabextract bsdcpio",
        Kind.OVERWRITES,
        "unpacks over any file, and zip -TT runs code",
    ),
    Entry(
        "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 brotli compress uncompress pigz",
        Kind.OVERWRITES,
        "replaces files, and some of them write where they are told",
    ),
    Entry(
        "rm rmdir unlink shred srm trash truncate",
        Kind.DAMAGES,
        "deletes or empties anything: command rules have no path scope",
    ),
    Entry("touch mkfifo mknod mktemp", Kind.DAMAGES, "makes files outside the workspace"),
    Entry("mkdir", Kind.BROAD, "makes folders anywhere"),
    Entry("chmod chown chgrp chattr setfacl setfattr", Kind.DAMAGES, "changes who may do what"),
    Entry("rename mmv", Kind.OVERWRITES, "moves files over others"),
    Entry("tree", Kind.DAMAGES, "overwrites any file with -o"),
    # Reading.
    Entry(
        "cat tac head tail nl od hexdump hd strings rev fold fmt pr expand unexpand column cut "
        "paste join comm diff cmp colordiff icdiff wdiff look zcat bzcat xzcat zstdcat "
        "zgrep base32 basenc file readelf size csvlook csvcut csvgrep tsort ptx glow mdcat",
        Kind.READS,
        "reads any file: command rules ignore read_file denies",
    ),
    Entry("grep egrep fgrep", Kind.READS, "reads any file: command rules ignore denies"),
    Entry("jq gojq jaq pup", Kind.READS, "reads any file and variables"),
    Entry("yq dasel", Kind.OVERWRITES, "changes files in place with -i"),
    Entry(
        "rg ag ack ugrep bat batcat delta",
        Kind.ANY_CODE,
        "runs any program with --pre or --pager",
    ),
    Entry("find", Kind.READS, "lists everything; what deletes or runs is compared whole"),
    Entry("fd fdfind", Kind.ANY_CODE, "runs any program with -x"),
    Entry("fzf sk", Kind.ANY_CODE, "runs any program with --preview and --bind"),
    Entry(
        "exiftool ldd nm objdump mlr fx",
        Kind.ANY_CODE,
        "runs code of files or settings it is pointed at",
    ),
    Entry("locate mlocate plocate", Kind.READS, "lists everything"),
    Entry("wc du date", Kind.READS, "shows the lines of a file as names with one option"),
    Entry("lsof ss netstat", Kind.BROAD, "shows what runs"),
    Entry("env printenv", Kind.SECRETS, "shows the environment with its secrets"),
    Entry("ps pgrep pstree", Kind.SECRETS, "shows command lines and environments of others"),
    Entry("history fc", Kind.SECRETS, "shows what was typed before"),
    Entry("pass gopass secret-tool security keyring op bw", Kind.SENDS, "shows secrets"),
    Entry(
        "ls dir vdir exa eza lsd pwd cd pushd popd dirs basename dirname realpath readlink stat "
        "which whereis whatis apropos id whoami who w groups users logname tty uname nproc "
        "uptime free df lsblk lscpu locale cal ncal echo printf seq sleep wait jobs "
        "tr factor numfmt expr getconf md5sum sha1sum sha224sum sha256sum sha384sum sha512sum "
        "b2sum cksum sum shasum test [ true false type tput clear reset sync "
        "read getopts shift return exit break continue",
        Kind.HARMLESS,
        "is harmless",
    ),
    Entry(":", Kind.HARMLESS, "does nothing"),
    # The machine.
    Entry(
        "kill pkill killall fuser skill xkill renice reboot shutdown halt poweroff init telinit",
        Kind.DAMAGES,
        "ends what runs",
    ),
    Entry("hostname domainname timedatectl localectl hostnamectl", Kind.CHANGES, "can set values"),
    Entry(
        "systemctl launchctl service initctl rc-service loginctl busctl dbus-send gdbus "
        "mount umount losetup swapon modprobe insmod sysctl iptables nft ufw firewall-cmd ip "
        "useradd usermod userdel passwd chpasswd visudo update-alternatives ldconfig mkfs fdisk "
        "parted cryptsetup lvm setcap setenforce auditctl osascript defaults plutil xdg-open open "
        "gio gsettings dconf reg schtasks wmic",
        Kind.CONTROLS,
        "controls the machine",
    ),
    Entry("journalctl dmesg last lastlog", Kind.READS, "shows logs of the machine"),
    Entry("xclip xsel pbcopy pbpaste wl-copy wl-paste", Kind.SECRETS, "shows the clipboard"),
    Entry("export declare readonly local typeset", Kind.DAMAGES, "changes later commands"),
    Entry("gpg gpg2 gpgsm age openssl", Kind.OVERWRITES, "writes any file and uses private keys"),
)
