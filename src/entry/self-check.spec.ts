import 'reflect-metadata';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { ModulesContainer, NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import '../contract/events/all.js';
import { knownEvents } from '../contract/events/define.js';
import { kindName } from '../contract/events/envelopes.js';
import { PROBLEMS } from '../contract/problems.js';
import { contractName } from '../contract/registry.js';
import { loadConfig } from '../platform/config/config.js';
import { FAILPOINTS, Failpoints } from '../platform/failpoints/failpoints.js';
import { AppLogger, createLogger } from '../platform/logging/logger.js';
import { buildDocument } from '../platform/openapi/document.js';
import { knownOperations } from '../platform/operations/operation.js';
import { RootModule } from './root.module.js';

/** What must hold for the product as a whole, and no single room can see. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const databaseUrl = 'postgres://nobody@localhost/none';

interface Source {
  readonly file: string;
  /** Without comments. */
  readonly code: string;
}

async function sources(folder: string): Promise<Source[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter(
    (e) => e.isFile() && /\.(ts|sql)$/.test(e.name) && !/(spec|\.gen)\.ts$/.test(e.name) && !e.parentPath.includes('testing'),
  );
  return Promise.all(
    files.map(async (e) => {
      const path = join(e.parentPath, e.name);
      return { file: relative(root, path), code: withoutComments(await readFile(path, 'utf8')) };
    }),
  );
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\//g, '').replace(/(^|\s)(\/\/|--\s).*$/gm, '');
}

describe('the product', () => {
  let src: Source[];
  let app: NestFastifyApplication;
  const matches = (pattern: RegExp): string[] => src.flatMap(({ code }) => [...code.matchAll(pattern)].map((match) => match[1]!));

  beforeAll(async () => {
    src = await sources('src');
    const config = loadConfig({ SVC_DATABASE_URL: databaseUrl }, tmpdir());
    const module = RootModule.forRole(config, databaseUrl, new AppLogger(createLogger('silent')), new Failpoints());
    app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), {
      preview: true,
      logger: false,
      abortOnError: false,
    });
  });

  it('has an @Operation on every route, and every operation once in the document', () => {
    const document = buildDocument(app);
    const documented = Object.values(document.paths).flatMap((item) => Object.values(item as Record<string, { operationId: string }>));
    const controllers = new Set(
      [...app.get(ModulesContainer).values()].flatMap((module) => [...module.controllers.values()].map((c) => c.metatype)),
    );
    const routes = [...controllers].flatMap((controller) => {
      const prototype = controller!.prototype as Record<string, unknown>;
      return Object.getOwnPropertyNames(prototype).filter(
        (name) => typeof prototype[name] === 'function' && Reflect.hasMetadata(METHOD_METADATA, prototype[name]),
      );
    });
    expect(routes.length).toBeGreaterThan(20);
    expect(documented).toHaveLength(routes.length);
    expect(new Set(documented.map((o) => o.operationId)).size).toBe(documented.length);
    for (const { operationId } of documented) expect(operationId).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  });

  it('writes every controller into a module, and every module into a root', () => {
    const declared = matches(/@Controller\([^)]*\)\s*export class (\w+)/g);
    const wired = [...app.get(ModulesContainer).values()].flatMap((module) =>
      [...module.controllers.values()].map((c) => c.name as string),
    );
    expect([...new Set(wired)].sort()).toEqual([...declared].sort());
    const modules = matches(/export class (\w+Module)\b/g);
    const imported = new Set([...app.get(ModulesContainer).values()].map((module) => module.metatype.name));
    expect(modules.filter((name) => !imported.has(name))).toEqual([]);
  });

  it('declares every operation kind once, with an end of its own', () => {
    const kinds = matches(/\bkind: '([a-z]+(?:\.[a-z]+)+)'/g);
    expect([...knownOperations().keys()].sort()).toEqual([...kinds].sort());
    for (const [kind, { succeeded }] of knownOperations()) expect(succeeded.type).toBe(`request.result.${kind}`);
  });

  it('declares every event kind once, imports it, and gives it names of its own', () => {
    const declared = matches(/\bdefineEvent\(\s*'([^']+)'/g);
    expect([...knownEvents().keys()].sort()).toEqual([...declared].sort());
    expect(new Set([...knownEvents().keys()].map(kindName)).size).toBe(knownEvents().size);
    for (const [type, { payload }] of knownEvents()) {
      expect({ type, wellFormed: /^[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+$/.test(type) }).toEqual({ type, wellFormed: true });
      expect({ type, component: contractName(payload) }).toEqual({ type, component: expect.any(String) });
    }
  });

  it('hits every failpoint, and no other', () => {
    const hit = new Set(matches(/\bfailpoints\.hit\(\s*'([^']+)'/g));
    expect([...hit].sort()).toEqual([...FAILPOINTS].sort());
    expect(new Set(FAILPOINTS).size).toBe(FAILPOINTS.length);
  });

  it('notifies in two places only, never from a function of the database', async () => {
    const notifying = /\bpg_notify\b|\bNOTIFY\s+[\w"]|[`'"]\s*notify\s+\w+\s*[;,`'"]/;
    const all = [...src, ...(await sources('db')), ...(await sources('scripts'))];
    const found = all.filter(({ code }) => notifying.test(code)).map(({ file }) => file);
    expect(found.sort()).toEqual(['src/platform/streams/listener.ts', 'src/platform/streams/notifier.ts']);
  });

  it('notifies in a statement of its own, on a connection that has no transaction', () => {
    for (const name of ['src/platform/streams/listener.ts', 'src/platform/streams/notifier.ts']) {
      const { code } = src.find(({ file }) => file === name)!;
      for (const [statement] of code.matchAll(/[^\n]*pg_notify[^\n]*/g))
        expect(statement).toMatch(/\bpool\.query\(.*text: 'select pg_notify\(\$1, \$2\)'/);
      expect(code).not.toMatch(/\bbegin\b|transaction\(\)/i);
    }
  });

  it('shares no port or socket of its own with the processes beside it, but that of the API', () => {
    // `node:cluster` has them listen for each other otherwise. These run in processes that nothing is beside.
    const listening = src.filter(({ code }) => /\bcreateServer\b/.test(code) && /\.listen\((?!.*exclusive: true)/.test(code));
    const alone = ['src/entry/processes/primary.ts', 'src/platform/embedded/cluster.ts', 'src/platform/isolation/network/bridge.ts'];
    expect(listening.map(({ file }) => file).sort()).toEqual(alone);
  });

  it('writes the event tables in one room only', () => {
    const writing =
      /\b(insert\s+into|update|delete\s+from)\s+(only\s+)?"?(events|event_streams)\b|\b(insertInto|updateTable|deleteFrom)\(\s*'(events|event_streams)\b/i;
    const found = src.filter(({ code }) => writing.test(code)).map(({ file }) => file);
    expect(found.filter((file) => !file.startsWith('src/platform/event-log/'))).toEqual([]);
  });

  it('has one problem for a prefix, a status and a title, and throws only what it has', () => {
    const kinds = Object.values(PROBLEMS).map(({ prefix, status, title }) => `${prefix} ${status} ${title}`);
    expect(new Set(kinds).size).toBe(kinds.length);
    const thrown = matches(/\bproblem\(\s*'([^']+)'/g);
    expect(thrown.filter((name) => !(name in PROBLEMS))).toEqual([]);
    for (const { prefix, code } of Object.values(PROBLEMS)) {
      // One is the contract's own, with hyphens.
      expect(prefix).toMatch(/^[a-z]+(_[a-z]+)*$|^maintenance-in-progress$/);
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    }
  });
});
