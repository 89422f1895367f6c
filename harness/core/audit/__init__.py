"""The audit of allow rules: from what the settings say to findings and one verdict.

model         the nouns: Subject (what is audited), AuditFinding, AuditReport
policy        levels → what they do to canonical writes, acceptances with an end
rules         each rule by itself
modes         settings and arguments that decide without a rule
code          hooks and servers: code that runs with every run
files         who may write the files that the settings stand in
defaults      what is granted where no rule speaks
combinations  rules that are worse together
whole         all of these, in one order
would         which rule of which file decides one request
fingerprint   what the rules mean, as one digest
compare       what changed since the last audit
sarif         findings for other tools
"""
