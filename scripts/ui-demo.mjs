/**
 * A city in which something is going on, for pictures of the operator's page: `node scripts/ui-demo.mjs URL`, of a service that runs on this
 * host and asks for no keys. Everything goes through the API, but what the files of a city say.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const CITY = 'harbor';
const BOARD = `
import { createServer } from 'node:http';
let asked = 0;
console.log('reads the tide tables of the coming week');
console.log('begins with 3 boards');
createServer((request, response) => {
  console.log(\`\${request.method} \${request.url} 200, request \${++asked}\`);
  response.end('A board of the harbor.');
}).listen(process.env.SVC_SERVICE_SOCKET, () => console.log('listens'));
`;
const TABLES = `
[[service]]
name = "board"
kind = "proxy_process"
process = { command = ["/bin/sh", "-c", "exec \\"$SVC_NODE\\" board.mjs"], health_path = "/" }

[maintenance.dolt]
enabled = true

[[pricing]]
provider = "loopback"
model = "loopback"
prompt_usd_per_1m = 3.0
completion_usd_per_1m = 15.0
`;

const LOG = `look at the log of **crane 4**, it reports twice:

| At | Load | Again after |
| --- | --- | --- |
| 04:12 | 12 t | 3 s |
| 04:40 | *none* | |

1. Read \`crane.log\` from midnight on.
2. Compare it with [the book of the harbor](https://harbor.example/book).

> Nobody moves her before Thursday.`;

const WORK = [
  ['Pilots get the berth in the same message as the tide', 'feature', 1, ['planning']],
  ['The tide table is a day behind after midnight UTC', 'bug', 0, ['planning', 'time']],
  ['Crane 4 reports its load twice', 'bug', 1, ['cranes']],
  ['Berths are offered in the order of arrival', 'feature', 2, ['planning']],
  ['Write down how a night without power goes', 'task', 2, ['docs']],
  ['Move the log of containers to the new table', 'chore', 2, ['storage']],
  ['Customs answers in XML again: read it', 'task', 1, ['customs']],
  ['The map forgets its zoom', 'bug', 3, ['map']],
  ['Half of the beacons have no battery level', 'bug', 2, ['beacons']],
  ['Tell the agents of ships about delays at once', 'feature', 1, ['mail']],
  ['Try the new parser on last year’s manifests', 'task', 3, ['customs']],
  ['Remove the old login', 'chore', 3, ['storage']],
];

export async function demo(base) {
  const ask = async (method, path, body, key) => {
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-svc-request': 'demo', ...(key === undefined ? {} : { 'idempotency-key': key }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  /** What is not there in every release, or not possible on every host, leaves a picture emptier. */
  const perhaps = (...args) => ask(...args).catch((error) => void process.stderr.write(`${error.message}\n`));
  const until = async (holds) => {
    for (let n = 0; n < 600; n++) {
      const found = await holds().catch(() => undefined);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('it does not become true');
  };
  const city = `/v0/city/${CITY}`;
  const made = async (name) => {
    await ask('POST', '/v0/city', { dir: name, provider: 'loopback' });
    await until(() => ask('GET', `/v0/city/${name}`));
  };
  for (const name of [CITY, 'lighthouse', 'shipyard']) await made(name);
  const { path } = (await ask('GET', '/v0/cities')).items.find(({ name }) => name === CITY);
  await writeFile(join(path, 'board.mjs'), BOARD);
  await mkdir(join(path, 'packs/review'), { recursive: true });
  await writeFile(
    join(path, 'packs/review/pack.toml'),
    '[pack]\nname = "review"\nversion = "1.2.0"\nschema = 2\ndescription = "Agents that read what others have written"\n',
  );
  await writeFile(join(path, 'city.toml'), (await readFile(join(path, 'city.toml'), 'utf8')) + TABLES);
  await writeFile(
    join(path, 'pack.toml'),
    `${await readFile(join(path, 'pack.toml'), 'utf8')}\n[imports.review]\nsource = "packs/review"\n`,
  );
  await ask('POST', `${city}/config/reload`);
  for (const [name, prefix] of [
    ['quay', 'qu'],
    ['tower', 'to'],
  ])
    await ask('POST', `${city}/rigs`, { name, prefix, default_branch: 'main' });
  await perhaps('POST', `${city}/providers`, {
    name: 'night-shift',
    display_name: 'Night shift',
    base: 'builtin:loopback',
    args: ['--quiet'],
    env: { SHIFT: 'night' },
  });
  await perhaps('PUT', `${city}/patches/providers`, { name: 'night-shift', args: ['--verbose'], env: { HARBOR: 'north' } });
  for (const name of ['pilot', 'crane', 'clerk'])
    await perhaps('POST', `${city}/agents`, { name, provider: 'loopback', description: `The ${name} of the harbor` });

  const beads = [];
  for (const [title, type, priority, labels] of WORK)
    beads.push(
      await ask('POST', `${city}/beads`, {
        title,
        type,
        priority,
        labels,
        description: ['Found on the round of this morning.', title, 'As the harbor master has written it down.'].join('\n\n'),
      }),
    );
  for (const [one, other] of [
    [0, 1],
    [3, 0],
    [9, 0],
    [10, 6],
    [5, 11],
  ])
    await perhaps('POST', `${city}/bead/${beads[one].id}/dependencies`, { depends_on_id: beads[other].id });
  await ask('POST', `${city}/bead/${beads[7].id}/close`, {});
  // What people are to decide, and work in parts.
  await perhaps('POST', `${city}/bead/${beads[11].id}/assign`, { assignee: 'human' });
  for (const [whole, part] of [
    [0, 3],
    [0, 9],
    [3, 4],
  ])
    await perhaps('POST', `${city}/bead/${beads[part].id}/update`, { parent: beads[whole].id });
  await perhaps('POST', `${city}/convoys`, { title: 'Before the storm', items: [beads[0].id, beads[2].id, beads[8].id] });
  for (const [subject, body] of [
    ['Berth 7 is taken until Thursday', 'The “Aurora” waits for parts. Shall the “Meridian” go to berth 9?'],
    ['Nightly report', 'Eleven arrivals, nine departures, nothing lost.'],
  ])
    await perhaps('POST', `${city}/mail`, { from: 'clerk', to: 'human', subject, body });

  const sessions = [];
  for (const [title, messages] of [
    ['Berths for the week', ['plan', 'Which berth does the Aurora get?', 'tool', 'stream 120 2']],
    ['Crane 4', ['think', LOG, 'tool', 'ask']],
    ['Manifests', ['Read the manifests of last year', 'usage', 'ask']],
    ['Night watch', ['work 600']],
  ]) {
    const { session_id } = await ask('POST', `${city}/sessions`, { kind: 'provider', name: 'loopback', title });
    sessions.push(session_id);
    await until(async () => (await ask('GET', `${city}/session/${session_id}`)).running);
    for (const message of messages) {
      await ask('POST', `${city}/session/${session_id}/messages`, { message });
      if (message === 'ask' || message.startsWith('work')) break;
      await until(async () => (await ask('GET', `${city}/session/${session_id}`)).activity === 'idle');
    }
  }
  await perhaps('POST', `${city}/bead/${beads[2].id}/update`, { assignee: 'crane', status: 'in_progress' });
  await perhaps('POST', `${city}/bead/${beads[6].id}/update`, { assignee: 'clerk' });

  await perhaps('POST', `${city}/extmsg/adapters`, {
    provider: 'slack',
    account_id: 'harbor',
    name: 'Harbor on Slack',
    transport: 'stream',
  });
  const conversation = { scope_id: CITY, provider: 'slack', account_id: 'harbor', conversation_id: 'arrivals', kind: 'room' };
  await perhaps('POST', `${city}/extmsg/bind`, { conversation, session_id: sessions[0] });
  for (const [n, [from, text]] of [
    ['Ann', 'Is the Aurora in yet?'],
    ['Bo', 'She wants a berth with power.'],
  ].entries())
    await perhaps('POST', `${city}/extmsg/inbound`, {
      message: {
        provider_message_id: `m-${n}`,
        conversation,
        actor: { id: from, display_name: from, is_bot: false },
        text,
        attachments: [],
        received_at: new Date().toISOString(),
      },
    });
  for (const [name, rights] of [
    ['ann', ['operate', 'configure']],
    ['nightly', ['operate']],
  ])
    await perhaps('POST', '/v0/keys', { name, rights, cities: [CITY], expires_at: new Date(Date.now() + 90 * 86_400_000).toISOString() });
  await fetch(`${base}${city}/svc/board/`).catch(() => undefined);
  await perhaps('POST', `${city}/maintenance/dolt-gc?wait=true`);
  await until(async () => (await ask('GET', '/v0/pending')).total >= 2);
  return { city: CITY, session: sessions[0], asking: sessions[1], bead: beads[0].id };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(await demo(process.argv[2] ?? 'http://127.0.0.1:8372'));
