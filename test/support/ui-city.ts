import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from './app.js';
import { outcome, type Api } from './http.js';
import { Ledger } from './ledger.js';
import { serveSoon } from './stack-timings.js';
import { eventually } from './sse.js';

/** Texts as an agent, or anybody else, may write them. None may become more than a text. */
export const HOSTILE: readonly string[] = [
  '<img src=x onerror="window.__harm=1">',
  '<script>window.__harm=1</script>',
  '"><svg onload=window.__harm=1>',
  '</textarea><iframe srcdoc="<script>parent.__harm=1</script>">',
  '[x](javascript:window.__harm=1) ![y](https://elsewhere.invalid/pixel.png)',
  'javascript:window.__harm=1',
  '\u202egnp.exe\u200b\u0000\ufeff',
  '{{constructor.constructor("window.__harm=1")()}} ${window.__harm=1}',
  "=cmd|' /C calc'!A0",
  '\u001b]8;;https://elsewhere.invalid\u0007click\u001b]8;;\u0007\u001b[2J',
  '__proto__',
  `${'>'.repeat(4_000)}`,
];
/** Where they are kept: a text that a database can have. */
const hostile = (n: number, length = 200): string => HOSTILE[n % HOSTILE.length]!.replaceAll('\u0000', '').slice(0, length);

const SERVICE = (lines: readonly string[]): string => `
import { createServer } from 'node:http';
for (const line of ${JSON.stringify(lines)}) console.log(line);
createServer((request, response) => response.end('here')).listen(process.env.SVC_SERVICE_SOCKET);
`;

export interface UiCity {
  readonly session: string;
  readonly bead: string;
  readonly convoy: string;
  /** An unread message to people. */
  readonly mail: string;
}

/** A city in which every field that somebody can write has been written in, by somebody who means harm. */
export async function uiCity(stack: Stack, a: Api, name = 'alpha'): Promise<UiCity> {
  serveSoon(stack);
  const ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: name, provider: 'loopback' }), 'request.result.city.create');
  const city = `/v0/city/${name}`;
  const dir = join(stack.citiesRoot, name);
  const must = async (answer: Promise<{ status: number; text: string; body: any }>): Promise<any> => {
    const reply = await answer;
    if (reply.status >= 300) throw new Error(String(outcome(reply as never)));
    return reply.body;
  };
  await writeFile(join(dir, 'board.mjs'), SERVICE(HOSTILE.map((_, n) => hostile(n))));
  const toml = await readFile(join(dir, 'city.toml'), 'utf8');
  await writeFile(
    join(dir, 'city.toml'),
    `${toml}
[maintenance.dolt]
enabled = true

[[service]]
name = "board"
kind = "proxy_process"
process = { command = ["/bin/sh", "-c", "exec \\"$SVC_NODE\\" board.mjs"] }
`,
  );
  await must(a.post(`${city}/config/reload`));

  const [session] = await Promise.all([
    must(a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', title: hostile(0), message: 'ask' })),
    ...HOSTILE.map((_, n) =>
      must(
        a.post(`${city}/beads`, {
          title: hostile(n, 500),
          description: hostile(n, 4_000),
          labels: [hostile(n, 100)],
          assignee: hostile(n, 60),
        }),
      ),
    ),
  ]);
  const { items: beads } = (await a.get(`${city}/beads?limit=3`)).body as { items: { id: string }[] };
  const convoy = await must(a.post(`${city}/convoys`, { title: hostile(0), description: hostile(1), items: beads.map(({ id }) => id) }));
  await must(a.post(`${city}/beads`, { title: hostile(1, 500), assignee: 'human', parent: beads[0]!.id }));
  let mail = '';
  for (const [n] of HOSTILE.entries())
    mail = (await must(a.post(`${city}/mail`, { from: 'human', to: 'human', subject: hostile(n, 100), body: hostile(n) }))).id as string;
  await must(
    a.post(`${city}/providers`, {
      name: 'odd',
      display_name: hostile(0),
      command: hostile(1),
      args: [hostile(2)],
      env: { ODD: hostile(3) },
    }),
  );
  await must(a.send('PUT', `${city}/patches/providers`, { name: 'odd', args: HOSTILE.map((_, n) => hostile(n)) }));
  await must(a.post('/v0/keys', { name: 'odd key', rights: ['operate'] }));
  await must(
    a.post(`${city}/extmsg/adapters`, { provider: 'chat', account_id: hostile(2, 40), name: hostile(0, 60), transport: 'stream' }),
  );
  const conversation = { scope_id: name, provider: 'chat', account_id: 'default', conversation_id: hostile(0, 60), kind: 'room' };
  await must(a.post(`${city}/extmsg/bind`, { conversation, session_id: session.session_id }));
  for (const [n] of HOSTILE.entries())
    await must(
      a.post(`${city}/extmsg/inbound`, {
        message: {
          provider_message_id: `m-${n}`,
          conversation,
          actor: { id: hostile(n, 60), display_name: hostile(n, 60), is_bot: false },
          text: hostile(n),
          attachments: [{ provider_id: 'f', url: 'javascript:window.__harm=1', mime_type: 'text/html' }],
          received_at: new Date().toISOString(),
        },
      }),
    );
  for (const [n] of HOSTILE.entries())
    await must(
      a.post(`${city}/events`, {
        type: 'odd.thing',
        actor: hostile(n, 60),
        subject: hostile(n, 60),
        message: hostile(n),
        payload: { [`m ${hostile(n, 40)}`]: hostile(n), deep: { [`m ${hostile(n + 1, 40)}`]: [hostile(n + 2)] } },
      }),
    );
  await eventually(async () => (await a.get(`${city}/pending`)).body.items.length > 0 || undefined);
  await eventually(async () => (await a.get(`${city}/service/board`)).body.state === 'ready' || undefined);
  // What was refused is shown with what somebody has written there.
  await writeFile(
    join(dir, 'city.toml'),
    `${toml}\n[[agent]]\nname = ${JSON.stringify(hostile(0))}\nprovider = ${JSON.stringify(hostile(1))}\n`,
  );
  await a.post(`${city}/config/reload`);
  await eventually(async () => (await a.get(`${city}/config`)).body.rejected !== undefined || undefined);
  await ledger.stream.close();
  const { items } = (await a.get(`${city}/beads?limit=1`)).body as { items: { id: string }[] };
  return { session: session.session_id as string, bead: items[0]!.id, convoy: convoy.id as string, mail };
}
