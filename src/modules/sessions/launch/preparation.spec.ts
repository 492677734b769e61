import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { chmod, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import type { Preparation } from '../../../platform/runtime/preparation/preparation.js';
import { checkedFiles } from '../../files/composition/compose/checked-files.js';
import { compose } from '../../files/composition/compose/compose.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { MASK } from '../../files/composition/mask.js';
import { DiskPackStore } from '../../files/composition/packs/disk-pack-store.js';
import { plain } from '../../files/composition/tree.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import type { SessionRow } from '../session-store/session-row.js';
import { mcpServersOf } from './mcp-servers.js';
import { fingerprintNow, fingerprintWithPlace, partsNow, partsWithPlace, placeParts } from './place-fingerprint.js';
import { configDirectory, preparationOf, preparedFor } from './preparation.js';
import { scriptDocument } from './script-document.js';
import { templateOf } from './template.js';
import { variablesOf, type Values } from './variables.js';

let citiesRoot: string;
let cityPath: string;
afterAll(removeFolders);
beforeEach(async () => {
  citiesRoot = await realpath(await folder('svc-cities-'));
  cityPath = path.join(citiesRoot, 'town');
  for (const [name, text] of Object.entries(FILES)) await write(name, text);
  await chmod(at('packs/desk/agents/clerk/setup.sh'), 0o755);
});

const FILES = {
  'city.toml': `[workspace]
provider = "loopback"
env = { FILES_TOKEN = "$HOST_SECRET", PLAIN = "p" }
[providers.loopback]
base = "builtin:loopback"
[imports.desk]
source = "packs/desk"
`,
  'pack.toml': '[pack]\nname = "town"\nschema = 2\n[global]\nsession_live = ["touch {{.ConfigDir}}/city"]\n',
  'mcp/files.toml':
    'name = "files"\ncommand = "bin/files"\nargs = ["$HOST_SECRET", "{{.WorkDir}}"]\n[env]\nTOKEN = "x-$HOST_SECRET"\nGONE = "$NOBODY"\n',
  'mcp/bin/files': '#!/bin/sh\n',
  'overlays/AGENTS.md': 'city',
  'overlays/per-provider/loopback/only': 'loopback',
  'overlays/per-provider/claude/not': 'claude',
  'packs/desk/pack.toml': '[pack]\nname = "desk"\nschema = 2\n[global]\nsession_live = ["touch {{.ConfigDir}}/pack"]\n',
  'packs/desk/overlay/AGENTS.md': 'pack',
  'packs/desk/overlay/bin/tool': 'tool',
  'packs/desk/mcp/files.toml': 'name = "files"\ncommand = "of-the-pack"\n',
  'packs/desk/mcp/notes.template.toml':
    'name = "notes"\nurl = "https://notes.example.org/{{.Agent}}"\n[headers]\nAuthorization = "Bearer {{.FILES_TOKEN}}"\n',
  'packs/desk/agents/clerk/prompt.md': 'File.',
  'packs/desk/agents/clerk/setup.sh': 'true\n',
  'packs/desk/agents/clerk/overlay/AGENTS.md': 'clerk',
  'packs/desk/agents/clerk/mcp/own.toml': 'name = "own"\ncommand = "/opt/own"\n',
  'packs/desk/agents/clerk/agent.toml': `pre_start = ["\\"{{.ConfigDir}}/go.sh\\" {{.AgentBase}} --format '{{.Names}}'", " "]
session_setup = ["echo {{.Session}} {{ .WorkDir }}"]
session_setup_script = "setup.sh"
session_live = ["echo own"]
`,
};

const at = (name: string): string => path.join(cityPath, name);
async function write(name: string, text: string): Promise<void> {
  await mkdir(path.dirname(at(name)), { recursive: true });
  await writeFile(at(name), text);
}
async function composed(): Promise<CityConfig> {
  const tree = new DiskTree(cityPath);
  const { config, issues } = await compose({
    tree,
    packs: new DiskPackStore({ city: tree, cityDir: cityPath, citiesRoot, ledger: tree.ledger }),
    cityName: 'town',
  });
  if (config === undefined) throw new Error(JSON.stringify(issues));
  return plain(config) as CityConfig;
}

const HOST = { HOST_SECRET: 'sesame' };
const row = { id: 'to-1', session_name: 's-to-1', agent: 'desk.clerk', agent_name: null } as unknown as SessionRow;

async function ready(config: CityConfig, name = 'desk.clerk', more: Values = {}) {
  const template = templateOf(config, 'agent', name);
  const places = { cityName: 'town', cityPath, citiesRoot, rig: undefined };
  const directories = { city: cityPath, rigRoot: undefined, workDir: at('work') };
  const variables = {
    ...variablesOf(template, row, places, directories, await configDirectory(template.agent, cityPath, places)),
    ...more,
  };
  return {
    template,
    places,
    variables,
    prepared: (await preparedFor(config, template, variables, places))!,
    servers: () => mcpServersOf(config, template, variables, HOST, places),
  };
}
async function preparation(config: CityConfig, name?: string): Promise<Preparation | undefined> {
  const { prepared, template, places } = await ready(config, name);
  return preparationOf(prepared, template, at('work'), at('.gc/runtime'), places);
}

describe('what a place is prepared with', () => {
  it('is commands with their variables filled in, each where its definition lies', async () => {
    const { preStart, setup, live } = (await preparation(await composed()))!;
    expect(preStart.map(({ line }) => line)).toEqual([`"${at('packs/desk')}/go.sh" desk.clerk --format '{{.Names}}'`]);
    expect(preStart[0]!.written).toContain('{{.ConfigDir}}');
    expect(setup.map(({ key, line }) => [key, line])).toEqual([
      ['session_setup', `echo s-to-1 ${at('work')}`],
      ['session_setup_script', `exec '${at('packs/desk/agents/clerk/setup.sh')}'`],
    ]);
    expect(live.map(({ line }) => line)).toEqual([`touch ${cityPath}/city`, `touch ${at('packs/desk')}/pack`, 'echo own']);
  });

  // Guard: whoever reads the events of the city sees what the configuration hides from him.
  it('is told of without its secrets, and run with them', async () => {
    await write('packs/desk/agents/clerk/agent.toml', `pre_start = ["GITHUB_TOKEN=abc clone --password def x"]\n`);
    const { preStart, told } = (await preparation(await composed()))!;
    expect(told('+ GITHUB_TOKEN=abc\n+ clone\n')).toBe(`+ GITHUB_TOKEN=${MASK}\n+ clone\n`);
    expect(preStart[0]).toMatchObject({
      line: 'GITHUB_TOKEN=abc clone --password def x',
      written: `GITHUB_TOKEN=${MASK} clone --password ${MASK} x`,
    });
  });

  it('is the files of the packs, the city, the agent, the later one over the earlier', async () => {
    const { overlay, ledger } = (await preparation(await composed()))!;
    expect(overlay.map(({ path: name, source }) => [name, source])).toEqual([
      ['AGENTS.md', at('packs/desk/agents/clerk/overlay/AGENTS.md')],
      ['bin/tool', at('packs/desk/overlay/bin/tool')],
      ['only', at('overlays/per-provider/loopback/only')],
    ]);
    expect(ledger).toMatch(/\.gc\/runtime\/overlays\/[0-9a-f]{32}\.json$/);
  });

  it('is not made of what a link outside of the city has', async () => {
    const outside = await folder('svc-secret-');
    await writeFile(path.join(outside, 'id_rsa'), 'secret');
    const config = await composed();
    await symlink(outside, at('overlays/keys'));
    await expect(preparation(config)).rejects.toMatchObject({
      failure: 'unsupported',
      message: 'the overlay overlays cannot be used: overlays/keys: it leads outside',
    });
  });

  it('is nothing for an agent without any of it, nor for a bare provider', async () => {
    for (const name of ['overlays/AGENTS.md', 'pack.toml'])
      await write(name, name === 'pack.toml' ? '[pack]\nname = "town"\nschema = 2\n' : '');
    await write('city.toml', FILES['city.toml'].split('[imports')[0]!);
    await write('agents/plain/prompt.md', 'Work.');
    const config = await composed();
    const none = { ...config, overlays: [], mcp_servers: [] };
    expect(await preparation(none, 'plain')).toBeUndefined();
    expect(placeParts(none, templateOf(none, 'agent', 'plain'))).toEqual({});
    expect(placeParts(config, templateOf(config, 'provider', 'loopback'))).toEqual({});
  });

  it('has no text in a command that a shell would read', async () => {
    const config = await composed();
    for (const Session of ['$(id)', '`id`', `it's`, 'a"b', 'a\nb'])
      await expect(ready(config, 'desk.clerk', { Session })).rejects.toMatchObject({
        failure: 'unsupported',
        message: expect.stringContaining('session_setup has {{.Session}}'),
      });
  });

  it('is told to a script under the names of the files', async () => {
    const { template, prepared, places } = await ready(await composed());
    const document = await scriptDocument(template, { command: 'x', args: [] }, { cwd: '/w', env: {} }, prepared, places);
    expect(document).toEqual({
      work_dir: '/w',
      command: 'x',
      env: {},
      pre_start: [expect.stringContaining('/packs/desk/go.sh')],
      session_setup: [`echo s-to-1 ${at('work')}`],
      session_setup_script: at('packs/desk/agents/clerk/setup.sh'),
      session_live: [expect.any(String), expect.any(String), 'echo own'],
      pack_overlay_dirs: [at('packs/desk/overlay'), at('overlays'), at('packs/desk/agents/clerk/overlay')],
    });
  });
});

describe('MCP servers', () => {
  it('are parsed once, when the city is composed', async () => {
    const { servers } = await ready(await composed());
    const asked = jest.spyOn(checkedFiles, 'check');
    try {
      expect(await servers()).toHaveLength(3);
      expect(asked.mock.calls.map(([, file]) => file)).toContain('mcp/files.toml');
    } finally {
      asked.mockRestore();
    }
  });

  it('are those of the city, its packs and the agent, with their secrets where nobody looks', async () => {
    expect(await (await ready(await composed())).servers()).toEqual([
      {
        name: 'files',
        command: at('mcp/bin/files'),
        args: ['$HOST_SECRET', '{{.WorkDir}}'],
        env: [
          { name: 'TOKEN', value: 'x-sesame' },
          { name: 'GONE', value: '' },
        ],
      },
      {
        type: 'http',
        name: 'notes',
        url: 'https://notes.example.org/desk.clerk',
        headers: [{ name: 'Authorization', value: 'Bearer sesame' }],
      },
      { name: 'own', command: '/opt/own', args: [], env: [] },
    ]);
  });

  it.each([
    ['mcp/files.toml', 'name = "files"\n', /mcp\/files\.toml: command: either command or url is required/],
    ['mcp/files.toml', 'name = "files"\ncommand = "./gone"\n', /mcp\/files\.toml: command: there is no such file/],
    ['mcp/files.toml', 'name = "files"\ncommand = "../../outside"\n', /mcp\/files\.toml: command: there is no such file/],
    ['packs/desk/mcp/notes.template.toml', 'name = "notes"\nurl = "{{.FILES_TOKEN}}"\n', /notes\.template\.toml has the unknown variable/],
  ])('that cannot be are named with their file: %s %j', async (name, text, words) => {
    const config = await composed();
    await writeFile(path.join(citiesRoot, 'outside'), '');
    await write(name, text);
    const error = await (await ready(config)).servers().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ failure: 'unsupported', message: expect.stringMatching(words) });
    expect((error as Error).message).not.toContain('sesame');
  });
});

describe('the fingerprint', () => {
  it.each([
    ['pre_start', 'packs/desk/agents/clerk/agent.toml', (text: string) => text.replace('go.sh', 'come.sh')],
    ['session_setup', 'packs/desk/agents/clerk/agent.toml', (text: string) => text.replace('echo {{.Session}}', 'echo')],
    ['session_setup_script', 'packs/desk/agents/clerk/setup.sh', () => 'false\n'],
    ['session_live', 'packs/desk/agents/clerk/agent.toml', (text: string) => text.replace('echo own', 'echo mine')],
    ['session_live', 'packs/desk/pack.toml', (text: string) => text.replace('/pack"', '/other"')],
    ['overlay', 'packs/desk/agents/clerk/overlay/AGENTS.md', () => 'new'],
    ['overlay', 'overlays/AGENTS.md', () => 'new'],
    ['mcp.own', 'packs/desk/agents/clerk/mcp/own.toml', (text: string) => `${text}args = ["x"]\n`],
    ['mcp.files', 'mcp/files.toml', (text: string) => text.replace('TOKEN', 'KEY')],
  ])('is another one with another %s (%s)', async (part, file, change) => {
    const of = { kind: 'agent', template: 'desk.clerk', options: {} } as const;
    const hashes = new Set<string>();
    const parts = async (): Promise<Values> => {
      const config = await composed();
      const template = templateOf(config, of.kind, of.template);
      const now = partsNow(config, of)!;
      expect(partsWithPlace(config, template, {})).toEqual(now);
      hashes.add(fingerprintNow(config, of)!).add(fingerprintWithPlace(config, template, {}));
      return now;
    };
    const before = await parts();
    await write(file, change(FILES[file as keyof typeof FILES]));
    const after = await parts();
    expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual([part]);
    expect(Object.keys(after)).toEqual(Object.keys(before));
    expect(hashes.size).toBe(2);
  });
});
