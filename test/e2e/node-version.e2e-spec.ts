import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Authority } from '../support/authority.js';
import { foreignEnvironment } from '../support/cli.js';
import { folder, removeFolders } from '../support/folders.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const TYPESCRIPT = ['--import', `${root}scripts/typescript.mjs`];
const SERVER_NEEDS = 24;
const CLIENT_NEEDS = 20;
const unreachable = { ...foreignEnvironment(), SVC_API_URL: 'https://127.0.0.1:9' };

afterAll(removeFolders);

/** A process of a Node that says it is `version`, in an empty directory that is its data directory too. */
async function started(version: string, file: string, args: readonly string[] = []): Promise<{ code: number | null; output: string }> {
  const cwd = await folder('svc-old-node-');
  const pretend = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`;
  const env = { ...foreignEnvironment(), SVC_DATA_DIR: cwd };
  // One that starts all the same ends with its database.
  const options = { cwd, env, timeout: 30_000, killSignal: 'SIGINT' } as const;
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...TYPESCRIPT, '--import', pretend, root + file, ...args], options, (_error, out, err) =>
      resolve({ code: child.exitCode, output: out + err }),
    );
  });
}

describe('a Node that is too old', () => {
  it.each(['src/entry/serve.ts', 'src/entry/migrate.ts'])('is refused by %s in one sentence, before anything is done', async (file) => {
    const { code, output } = await started('20.20.2', file);
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringMatching(
        /^the supervisor needs Node\.js 24 or newer, and this is 20\.20\.2 \(.+\): start it with `npm start`.*\n$/,
      ),
    });
  });

  it('is refused by the client, which asks for less', async () => {
    expect(await started('18.19.0', 'bin/svc.js', ['--version'])).toEqual({
      code: 1,
      output: expect.stringMatching(/^svc: needs Node\.js 20 or newer, and this is 18\.19\.0 \(.+\)\n$/),
    });
  });

  it('gives way to the pinned one where the client is to trust an authority, which it could not', async () => {
    const dir = await folder('svc-old-tls-');
    const { file } = await Authority.in(dir);
    const tls = `import tls from 'node:tls';import {syncBuiltinESMExports as s} from 'node:module';delete tls.setDefaultCACertificates;s()`;
    const older = ['--import', `data:text/javascript,${encodeURIComponent(tls)}`];
    let flags = ['--ca-cert', file];
    let env: NodeJS.ProcessEnv = unreachable;
    const said = (...args: string[]): Promise<string> =>
      new Promise((resolve) =>
        execFile(process.execPath, [...older, ...args, 'city', 'list', ...flags], { cwd: dir, env }, (_error, _out, err) => resolve(err)),
      );
    expect(await said(`${root}dist/src/cli/main.js`)).toContain('--ca-cert needs Node 22.19');
    expect(await said(`${root}bin/svc.js`)).toContain('cannot reach the supervisor at https://127.0.0.1:9');
    await mkdir(`${dir}/svc`);
    const contexts = { current: 'work', contexts: { work: { server: 'https://127.0.0.1:9', ca_cert: file } } };
    await writeFile(`${dir}/svc/contexts.json`, JSON.stringify(contexts));
    flags = [];
    env = { ...foreignEnvironment(), XDG_CONFIG_HOME: dir };
    expect(await said(`${root}dist/src/cli/main.js`)).toContain('the ca_cert of the context work needs Node 22.19');
    expect(await said(`${root}bin/svc.js`)).toContain('cannot reach the supervisor at https://127.0.0.1:9');
  });

  it('is what package.json says: the pinned one for the server, `engines` for the client', async () => {
    const { engines, optionalDependencies } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as {
      engines: { node: string };
      optionalDependencies: Record<string, string>;
    };
    const pinned = Object.entries(optionalDependencies).flatMap(([name, version]) =>
      /^node-.*(linux|darwin)-/.test(name) ? [version] : [],
    );
    expect({ pinned: new Set(pinned), engines: engines.node }).toEqual({ pinned: new Set([pinned[0]]), engines: `>=${CLIENT_NEEDS}` });
    expect(pinned[0]).toMatch(new RegExp(`^${SERVER_NEEDS}\\.\\d+\\.\\d+$`));
  });
});
