import { readdir, readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../../contract/problems.js';
import { KeptAnswers } from './kept-answers.js';

/**
 * The guide at `/guide` and the JSON Schemas of files at `/schemas`, as the build has rendered them. Only names that the build has made
 * are ever read, and nothing of a request becomes a path.
 */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
};

/** An extension of the HTTP application, beside `serveDocs`. */
export function serveGuide(app: NestFastifyApplication, built = builtFolder()): void {
  const kept = new KeptAnswers();
  const files = new Map<string, Promise<ReadonlyMap<string, string>>>();
  const known = (folder: string): Promise<ReadonlyMap<string, string>> => {
    const found = files.get(folder) ?? filesOf(join(built, folder));
    files.set(folder, found);
    return found;
  };
  const send = async (folder: string, name: string, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const file = (await known(folder)).get(name);
    if (file === undefined) throw problem('not_found', 'no such page');
    void reply.header('content-security-policy', POLICY).header('x-content-type-options', 'nosniff');
    if (await kept.send(file, request, reply)) return;
    void reply.type(TYPES[extname(file)] ?? 'application/octet-stream');
    await reply.send(await kept.keep(file, await readFile(file), request, reply));
  };
  const adapter = app.getHttpAdapter();
  adapter.get('/guide', (request: FastifyRequest, reply: FastifyReply) => send('guide', 'index', request, reply));
  adapter.get('/guide/', (_request: FastifyRequest, reply: FastifyReply) => reply.redirect('/guide'));
  adapter.get('/guide/*', (request: FastifyRequest, reply: FastifyReply) =>
    send('guide', (request.params as { '*': string })['*'], request, reply),
  );
  // The schema of events is an operation of the contract, which comes first.
  adapter.get('/schemas/:name', (request: FastifyRequest, reply: FastifyReply) =>
    send('schemas', (request.params as { name: string }).name, request, reply),
  );
}

/** What the build has made: beside this file once it is built itself, else in the folder of the last build. */
function builtFolder(): string {
  const beside = fileURLToPath(new URL('../../../', import.meta.url));
  return existsSync(join(beside, 'guide')) ? beside : join(beside, 'dist');
}

/** Files by what they are asked for as: pages without their ending. A service that was not built has none. */
async function filesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return new Map(
    found
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map(({ parentPath, name }) => {
        const file = join(parentPath, name);
        return [file.slice(folder.length + 1).replace(/\.html$/, ''), file] as const;
      }),
  );
}
