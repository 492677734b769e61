import { Argument, type Command } from 'commander';
import { addressOf } from '../agents/address.js';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { each } from '../each.js';
import { answered, matchHeader, nameOf, withIfMatch } from '../edits.js';
import type { Io } from '../io.js';
import { KINDS, type PatchKind } from './view.js';

interface Flags {
  readonly ifMatch?: string;
  readonly json?: boolean;
}

export function addRemove(patch: Command, io: Io): void {
  const remove = cityCommand(patch, 'delete', 'take patches out of the files of the city')
    .addArgument(new Argument('<kind>', 'what they are patches of').choices(KINDS))
    .argument('<name...>', 'what they are for')
    .option('--json', 'print one JSON line for each');
  withIfMatch(remove, 'the configuration');
  withExamples(remove, 'svc patch delete agent web/polecat', 'svc patch delete provider codex');
  remove.action(async (kind: PatchKind, names: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const header = matchHeader(flags, names);
    await each(context, names, async (given) => {
      const { data } = await ask(api, (signal) => {
        if (kind === 'agent') {
          const path = { cityName: city, ...addressOf(given) };
          return 'dir' in path
            ? api.http.DELETE('/v0/city/{cityName}/patches/agent/{dir}/{base}', { params: { path, header }, signal })
            : api.http.DELETE('/v0/city/{cityName}/patches/agent/{base}', { params: { path, header }, signal });
        }
        const params = { path: { cityName: city, name: nameOf(`a ${kind}`, given) }, header };
        return kind === 'rig'
          ? api.http.DELETE('/v0/city/{cityName}/patches/rig/{name}', { params, signal })
          : api.http.DELETE('/v0/city/{cityName}/patches/provider/{name}', { params, signal });
      });
      await answered(io, flags, data, `the patch of ${kind} ${given} is deleted`);
    });
  });
}
