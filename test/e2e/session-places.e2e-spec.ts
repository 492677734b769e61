import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let a: Api;
let ledger: Ledger;

const FILES = {
  'overlays/AGENTS.md': 'Be kind.',
  'mcp/files.toml': 'name = "files"\ncommand = "files-server"\n[env]\nPLACE = "$HOME"\nKEY = "hush-hush"\nGONE = "$NOBODY"\n',
  'agents/smith/prompt.md': 'Work.',
  'agents/smith/agent.toml': `provider = "loopback"
work_dir = "work/{{.AgentBase}}"
max_active_sessions = 1
pre_start = ["echo one > made; echo $SVC_SESSION_ID {{.AgentBase}} >> made"]
session_setup = ["cat made AGENTS.md > seen"]
`,
  'agents/smith/overlay/.tool/settings.json': '{}',
  'agents/clumsy/prompt.md': 'Work.',
  'agents/clumsy/agent.toml': 'provider = "loopback"\nwork_dir = "work/clumsy"\npre_start = ["echo the repository is away >&2; exit 7"]\n',
};

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 1 });
  a = api(stack.urls[0]!);
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'town', provider: 'loopback' }), 'request.result.city.create');
  for (const [name, text] of Object.entries(FILES)) await write(name, text);
  await reload();
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

const at = (name: string): string => join(stack.citiesRoot, 'town', name);
const path = (rest: string): string => `/v0/city/town/${rest}`;
const text = (name: string): Promise<string> => readFile(at(name), 'utf8');
async function write(name: string, content: string): Promise<void> {
  await mkdir(dirname(at(name)), { recursive: true });
  await writeFile(at(name), content);
}
async function reload(): Promise<void> {
  expect(await a.post(path('config/reload'))).toMatchObject({ status: 200 });
}
async function generation(id: string): Promise<number> {
  const [row] = await adminAt<{ generation: string }>(stack.databaseUrl, 'select generation from sessions where id = $1 and live', [id]);
  return Number(row?.generation);
}

describe('the place of a session', () => {
  it('is prepared before it works, and anew when that is to be done in another way', async () => {
    const made = await a.post(path('sessions'), { kind: 'agent', name: 'smith' });
    await ledger.succeeded(made, 'request.result.session.create');
    const id = made.body.session_id as string;
    const say = async (message: string): Promise<void> =>
      ledger.succeeded(await a.post(path(`session/${id}/messages`), { message }), 'request.result.session.message');
    const said = async (words: string): Promise<unknown> =>
      eventually(async () => (await a.get(path(`session/${id}/transcript`))).text.includes(words));
    expect(await text('work/smith/made')).toBe(`one\n${id} smith\n`);
    expect(await text('work/smith/AGENTS.md')).toBe('Be kind.');
    expect(await text('work/smith/.tool/settings.json')).toBe('{}');
    expect(await text('work/smith/seen')).toBe(`one\n${id} smith\nBe kind.`);
    await say('mcp');
    await said('servers: files (stdio PLACE KEY)');

    const before = await generation(id);
    expect((await a.post(path(`session/${id}/permission-mode`), { permission_mode: 'ask' })).status).toBe(200);
    await say('ask');
    await write('agents/smith/agent.toml', FILES['agents/smith/agent.toml'].replace('echo one', 'echo two'));
    await reload();
    await eventually(async () => (await a.get(path(`session/${id}/pending`))).body.pending !== undefined);
    expect((await a.post(path(`session/${id}/respond`), { action: 'approve' })).status).toBe(202);
    await eventually(async () => (await generation(id)) === before + 1);
    await said('chosen: ');
    expect(await text('work/smith/made')).toBe(`two\n${id} smith\n`);
    await write('mcp/files.toml', FILES['mcp/files.toml'].replace('KEY', 'OTHER'));
    await reload();
    await eventually(async () => (await generation(id)) === before + 2);
    await say('mcp');
    await said('servers: files (stdio PLACE OTHER)');
    for (const shown of [`session/${id}`, 'config', 'config/explain', 'events?after_seq=0&limit=1000', `session/${id}/transcript`]) {
      const { status, text: words } = await a.get(path(shown));
      expect([shown, status, words.includes('hush-hush')]).toEqual([shown, 200, false]);
    }
    await a.post(path(`session/${id}/close`));
  });

  it('that cannot be prepared is told with the command and what that said', async () => {
    const made = await a.post(path('sessions'), { kind: 'agent', name: 'clumsy' });
    expect(made.status).toBe(202);
    let payload: unknown;
    await eventually(async () => {
      const { items } = (await a.get(path('events?after_seq=0&limit=1000&type=session.start_failed'))).body;
      payload = items[0];
      return payload !== undefined;
    });
    expect(JSON.stringify(payload)).toContain('pre_start `echo the repository is away >&2; exit 7` failed (code 7)');
    expect(JSON.stringify(payload)).toContain('the repository is away');
    await a.post(path(`session/${made.body.session_id}/close`));
  });

  it('is nothing that a server without a program could be a part of: the file and the line are named', async () => {
    const reply = await a.post(path('config/validate'), { files: { 'mcp/files.toml': 'name = "files"\nurl = "x"\ncommand = "y"\n' } });
    expect(reply.body).toMatchObject({ valid: false, errors: ['mcp/files.toml:2: url: command and url exclude each other'] });
  });
});
