"""What version control, network, container, cloud and agent programs can be used for."""

from __future__ import annotations

from harness.core.permissions.uses import Entry, Kind

_PROGRAM = "runs any program that an argument names"

SERVICES: tuple[Entry, ...] = (
    # git: the whole program contains config, rebase -x and bisect run.
    Entry("git", Kind.ANY_CODE, "has config, rebase -x and bisect run, which run any code",
          flags="--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects"),
    Entry("git: config", Kind.ANY_CODE, "sets programs that the next git call runs"),
    Entry("git config: --get --get-all --get-regexp --list -l list get", Kind.SECRETS,
          "shows settings, which may hold tokens"),
    Entry("git: rebase bisect submodule filter-branch difftool mergetool grep archive ls-remote "
          "send-email instaweb daemon upload-archive shell web--browse citool gui gitk",
          Kind.ANY_CODE, _PROGRAM),
    Entry("git: clone init", Kind.ANY_CODE, "takes settings and hooks that run code"),
    Entry("git: push", Kind.SENDS, "pushes to any remote, and with --force over others' work"),
    Entry("git: fetch pull remote", Kind.SENDS, "reaches any host"),
    Entry("git remote: show get-url -v", Kind.BROAD, "shows and asks remotes"),
    Entry("git: reset clean checkout switch restore rm mv stash merge cherry-pick revert am apply "
          "worktree sparse-checkout update-ref read-tree checkout-index merge-file replace "
          "format-patch bundle fast-import fast-export maintenance pack-objects unpack-objects "
          "update-index symbolic-ref reflog gc prune filter-repo mailsplit mailinfo index-pack "
          "multi-pack-index hook lfs annex svn p4 cvsimport credential credential-store",
          Kind.DAMAGES, "throws work away, or writes where its arguments say"),
    Entry("git: commit add notes branch tag rerere commit-tree write-tree mktree mktag",
          Kind.CHANGES, "changes the repository and runs its hooks"),
    Entry("git: diff diff-files diff-index diff-tree blame annotate hash-object", Kind.READS,
          "reads any file with --no-index or --contents"),
    Entry("git: help", Kind.BROAD, "starts a pager or browser that is set"),
    Entry("git: status log show whatchanged shortlog describe rev-parse rev-list ls-files ls-tree "
          "cat-file show-ref for-each-ref merge-base name-rev cherry count-objects var version "
          "range-diff check-ignore check-attr fsck verify-commit verify-tag diff-pairs "
          "show-branch merge-tree patch-id stripspace column", Kind.HARMLESS,
          "shows the repository"),
    Entry("hg svn bzr fossil jj sl darcs cvs p4 gerrit repo git-lfs tig lazygit gitui",
          Kind.ANY_CODE, "runs hooks, editors and programs that arguments or settings name"),
    # GitHub and its like.
    Entry("gh", Kind.ANY_CODE, "has alias set --shell and extension install, which run any code"),
    Entry("gh: alias extension codespace config cs copilot ext", Kind.ANY_CODE,
          "runs or sets programs of the agent's choosing"),
    Entry("gh: api", Kind.CHANGES_REMOTE, "can write through any API"),
    Entry("gh: auth secret variable ssh-key gpg-key", Kind.CHANGES_REMOTE, "handles credentials"),
    Entry("gh: repo", Kind.ANY_CODE, "hands arguments to git, and deletes repositories"),
    Entry("gh repo: view list", Kind.HARMLESS, "reads from the service"),
    Entry("gh repo: delete edit create rename archive fork sync", Kind.CHANGES_REMOTE, "changes"),
    Entry("gh: release gist workflow run cache project label ruleset org", Kind.CHANGES_REMOTE,
          "changes the service and moves files to and from it"),
    Entry("gh run|gh workflow|gh release|gh gist|gh label|gh project|gh org|gh cache: list view",
          Kind.BROAD, "reads from the service"),
    Entry("gh: pr issue", Kind.CHANGES, "merges, closes and edits"),
    Entry("gh pr|gh issue: list view status checks diff", Kind.HARMLESS, "reads from the service"),
    Entry("gh: search status browse attestation completion help version", Kind.BROAD, "reads"),
    Entry("glab hub tea bb jira linear sentry-cli", Kind.CHANGES_REMOTE, "changes the service"),
    # Network.
    Entry("curl", Kind.SENDS_FILES, "sends any file anywhere, and -o writes any file"),
    Entry("wget", Kind.SENDS_FILES, "writes any file, sends files, and --use-askpass runs code"),
    Entry("http https httpie xh curlie aria2c axel lftp ftp tftp sftp scp yt-dlp gallery-dl "
          "rclone croc magic-wormhole wormhole restic borg duplicity s3cmd s5cmd mc",
          Kind.SENDS_FILES, "moves any file to and from anywhere"),
    Entry("ssh mosh autossh sshpass telnet rsh rlogin", Kind.ANY_CODE,
          "runs code on other machines, and ssh a ProxyCommand on this one"),
    Entry("nc ncat netcat socat nmap websocat ngrok tailscale openvpn wg",
          Kind.ANY_CODE, "connects programs to the network"),
    Entry("ssh-keygen ssh-add ssh-agent ssh-copy-id", Kind.ANY_CODE, "handles keys, runs helpers"),
    Entry("ping ping6 dig nslookup host whois traceroute mtr drill", Kind.SENDS,
          "reaches any host, and names can carry data"),
    Entry("lynx w3m links elinks", Kind.ANY_CODE, "is a browser with escapes to a shell"),
    Entry("mail mailx sendmail mutt msmtp swaks", Kind.ANY_CODE, "sends mail and has escapes"),
    # Databases.
    Entry("sqlite3 psql mysql mariadb mongosh mongo clickhouse-client duckdb usql sqlplus sqlcmd "
          "litecli pgcli mycli influx cqlsh", Kind.ANY_CODE, "has escapes to a shell"),
    Entry("redis-cli memcached-tool pg_dump pg_restore mysqldump mongodump createdb dropdb "
          "pg_dumpall etcdctl consul", Kind.DAMAGES, "changes data and writes files"),
    # Containers, clouds, infrastructure.
    Entry("docker podman nerdctl ctr crictl buildah lxc incus limactl colima vagrant multipass "
          "qemu-system-x86_64 virsh VBoxManage orb", Kind.CONTROLS,
          "starts containers or machines that hold the whole file system"),
    Entry("docker|podman|nerdctl: ps images version info inspect logs top port stats",
          Kind.BROAD, "shows containers and their settings"),
    Entry("docker-compose podman-compose skopeo kaniko buildctl earthly dagger act",
          Kind.CONTROLS, "starts containers that the workspace describes"),
    Entry("kubectl oc", Kind.CONTROLS, "runs programs in the cluster and changes it"),
    Entry("kubectl|oc: get describe logs top explain api-resources version events",
          Kind.BUILDS, "takes a configuration that runs programs, and shows secrets"),
    Entry("helm kustomize skaffold tilt k9s minikube kind k3d argocd flux istioctl",
          Kind.CONTROLS, "changes the cluster and runs plug-ins"),
    Entry("terraform tofu terragrunt pulumi cdk cdktf packer nomad ansible ansible-playbook "
          "salt chef-client puppet serverless sls sst sam", Kind.ANY_CODE,
          "runs code of the workspace and changes what is deployed"),
    Entry("terraform|tofu: fmt", Kind.DAMAGES, "rewrites files"),
    Entry("aws gcloud gsutil bq az doctl linode-cli hcloud ibmcloud oci scw vultr-cli eksctl",
          Kind.CONTROLS, "controls what is deployed, and moves any file"),
    Entry("vercel netlify wrangler flyctl fly heroku railway render supabase firebase "
          "cloudflared amplify eb shopify stripe twilio surge", Kind.FETCHES,
          "deploys, changes data, and runs code of the workspace"),
    Entry("vault sops chamber doppler infisical", Kind.CHANGES_REMOTE, "handles secrets"),
    # Agents, and this harness.
    Entry("agy antigravity gemini claude codex aider opencode goose cursor-agent amp crush qwen "
          "copilot llm sgpt interpreter cline cn q kiro auggie droid ollama",
          Kind.CONTROLS, "starts an agent that may be told to ask nobody"),
    Entry("harness", Kind.CONTROLS, "controls the state, jobs and approvals of this harness"),
    Entry("harness: gate journal", Kind.HARMLESS, "goes through the gate"),
    Entry("harness: canonical", Kind.CONTROLS, "controls canonical data"),
    Entry("harness canonical: get", Kind.HARMLESS, "reads through the gate"),
)  # fmt: skip
