/** What somebody has to know before the first request, above all operations. */
export const INTRODUCTION = `One control plane for many cities: workspaces in which agents work. [The guide](/guide) has a tutorial,
how-to pages, and every key, event, error and command.

### Authentication

Without keys (\`SVC_AUTH=off\`, the default of a server that listens to its own host only) everybody may do everything. With \`SVC_AUTH=keys\` a
request shows a key: \`Authorization: Bearer svc_…\`. What an operation needs of it stands beside it: nothing more than a key (\`read\`), one of its
rights (\`operate\`, \`configure\`, \`commands\`, \`audit\`), to be limited to no cities (\`all-cities\`), or that and every right (\`administer\`).
\`x-commands\` names the members of a body with which it needs \`commands\` too.

**Every request that changes something carries the header \`X-SVC-Request\`**, with any value: a page of another site cannot send it. So does a read
that takes what it gives away. It is the security scheme \`change\` here, so that a client sets it once.

### What goes on in the background

Such operations answer 202 with a \`request_id\` and an \`event_cursor\`. Exactly one event ends each: \`request.result.…\` or \`request.failed\`, with the
same \`request_id\` in its payload. Follow the log from the cursor on (\`after_cursor\`, or \`after_seq\` in a city) and nothing of it is missed.

### Repeating

With an \`Idempotency-Key\` a repeated request with the same body gives the first answer again, for 24 hours; with another body it is refused (422).
A \`Retry-After\` says that a refused request may be repeated as it is.

### Events

Every change appears in the log of its city in order and exactly once. Streams are server-sent events; one that breaks is opened again at any
replica with \`Last-Event-ID\`. The schema of a stream describes its frames; \`x-event-data\` beside it is what each carries as data.

### Errors

Every refusal is a problem (RFC 9457). Decide by its \`code\`; \`detail\` is for people and begins with a short word and a colon; \`errors\` names the
members that are wrong. Every answer carries \`X-SVC-Request-Id\`, under which the log of the server has it.

### Values

Every time is RFC 3339 in UTC, written with \`Z\`, and an offset is taken where one is given; what an earlier version stored in events may say
\`+00:00\`, which is the same. Integers fit 53 bits. A duration is text such as \`90s\`, \`45m\` or \`1h30m\`. Lists that are \`null\` are empty. Members that
an answer does not have are unknown or do not apply. A body with a member that an operation does not know is refused.

### Names

The ids of operations are the contract's. \`x-name\` is a short one of each, such as \`close-bead\`, for generators that can take it.`;
