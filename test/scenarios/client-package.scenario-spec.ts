import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { folder } from '../support/folders.js';

/** The library as a program of somebody else's has it: the package under `node_modules`, its types in strict mode, nothing of Node. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

const PROGRAM = `
import { ApiProblem, connect, type SomeEvent } from 'supervisor-control-plane/client';
const client = connect({ url: ['http://a', 'http://b'], key: 'svc_x' });
const path = { cityName: 'alpha' };
const bead = await client.post('/v0/city/{cityName}/beads', { path, body: { title: 'x' }, idempotencyKey: 'mine' });
export const id: string = bead.id;
export const told = (event: SomeEvent<'city'>): string => (event.type === 'bead.created' ? 'new' : event.actor);
for await (const event of client.events({ city: 'alpha' })) told(event);
for await (const { title } of client.items('/v0/city/{cityName}/beads', { path, query: { limit: 5 } })) title.trim();
export const codeOf = (error: unknown): string | undefined => (error instanceof ApiProblem ? error.code : undefined);
// @ts-expect-error a parameter of the path is missing
await client.get('/v0/city/{cityName}/bead/{id}', { path });
// @ts-expect-error a member of the body is missing
await client.post('/v0/city/{cityName}/beads', { path, body: {} });
// @ts-expect-error there is no such path
await client.get('/v0/nothing');
`;
const SETTINGS = {
  compilerOptions: {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    types: [],
  },
  files: ['program.ts'],
};

it('has types that a program compiles against in strict mode', async () => {
  const dir = await folder('svc-client-');
  await mkdir(join(dir, 'node_modules'));
  await symlink(root, join(dir, 'node_modules/supervisor-control-plane'));
  await writeFile(join(dir, 'package.json'), '{"type":"module"}');
  await writeFile(join(dir, 'program.ts'), PROGRAM);
  await writeFile(join(dir, 'tsconfig.json'), JSON.stringify(SETTINGS));
  const compiled = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', dir]).catch((error) => error);
  expect(compiled.stdout).toBe('');
});
