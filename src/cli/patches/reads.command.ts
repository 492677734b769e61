import { Argument, type Command } from 'commander';
import { addressOf } from '../agents/address.js';
import { ask, type Api } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { nameOf } from '../edits.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { allOf } from '../../client/pages.js';
import { KINDS, patchDetails, patchTable, type Listed, type Patch, type PatchKind } from './view.js';

export function addReads(patch: Command, io: Io): void {
  const list = cityCommand(patch, 'list', 'list patches, in the order in which they count')
    .addArgument(new Argument('[kind]', 'only patches of these').choices(KINDS))
    .option('--json', 'print one JSON line for each');
  withExamples(list, 'svc patch list', 'svc patch list agent --json');
  list.action(async (kind: PatchKind | undefined, _options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const items: Listed[] = [];
    for (const one of kind === undefined ? KINDS : [kind])
      for (const found of await patchesOf(context.api, context.city, one)) items.push({ kind: one, patch: found });
    await listAll<Listed | object>(context, {
      empty: 'no patches; make one with `svc patch set`',
      show: () => patchTable(items, io),
      page: () =>
        Promise.resolve({ items: context.flags.json === true ? items.map((item) => ({ kind: item.kind, ...item.patch })) : items }),
    });
  });

  const show = cityCommand(patch, 'show', 'show what a patch sets; values of environments are masked')
    .addArgument(new Argument('<kind>', 'what it is a patch of').choices(KINDS))
    .argument('<name>', 'what it is for: `core.worker`, `web/polecat`')
    .option('--json', 'print the patch as one JSON line');
  withExamples(show, 'svc patch show agent web/polecat', 'svc patch show provider codex --json');
  show.action(async (kind: PatchKind, name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<AllFlags>(action, io);
    const data = await patchOf(api, city, kind, name);
    return flags.json === true ? printJson(io, data) : io.out(patchDetails(kind, data));
  });
}

function patchesOf(api: Api, cityName: string, kind: PatchKind): Promise<readonly Patch[]> {
  const path = { cityName };
  return allOf<Patch>(async (query) => {
    const params = { path, query };
    if (kind === 'agent') return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/patches/agents', { params, signal }))).data;
    if (kind === 'rig') return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/patches/rigs', { params, signal }))).data;
    return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/patches/providers', { params, signal }))).data;
  });
}

async function patchOf(api: Api, cityName: string, kind: PatchKind, given: string): Promise<Patch> {
  if (kind === 'agent') {
    const path = { cityName, ...addressOf(given) };
    const { data } = await ask(api, (signal) =>
      'dir' in path
        ? api.http.GET('/v0/city/{cityName}/patches/agent/{dir}/{base}', { params: { path }, signal })
        : api.http.GET('/v0/city/{cityName}/patches/agent/{base}', { params: { path }, signal }),
    );
    return data;
  }
  const params = { path: { cityName, name: nameOf(`a ${kind}`, given) } };
  if (kind === 'rig') return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/patches/rig/{name}', { params, signal }))).data;
  return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/patches/provider/{name}', { params, signal }))).data;
}
