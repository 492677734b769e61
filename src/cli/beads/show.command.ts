import type { Command } from 'commander';
import { ask, type Api } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { showEach } from '../each.js';
import { ApiError } from '../errors.js';
import { lastEvents } from '../events/last.js';
import type { Io } from '../io.js';
import { whyBead } from '../why/why-bead.js';
import { because } from '../why/why-lines.js';
import type { Session } from '../sessions/view.js';
import { treeOf } from './tree.js';
import { beadDetails, type Bead } from './view.js';

interface Flags {
  readonly json?: boolean;
}

export function addShow(bead: Command, io: Io): void {
  const show = cityCommand(bead, 'show', 'show everything of beads, with what they depend on and what waits for them')
    .argument('<id...>', 'the beads')
    .option('--json', 'print one JSON line for each');
  withExamples(show, 'svc bead show al-12', 'svc bead show al-12 al-13 --json');
  show.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    let first = true;
    await showEach(context, ids, async (id) => {
      const params = { path: { cityName: city, id } };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/bead/{id}', { params, signal }));
      if (flags.json === true) return printJson(io, data);
      const { data: links } = await ask(api, (signal) =>
        api.http.GET('/v0/city/{cityName}/bead/{id}/dependencies', {
          params: { ...params, query: { direction: 'both', limit: 1000 } },
          signal,
        }),
      );
      const holder = await holderOf(api, city, data);
      const details = beadDetails(data, links.items ?? [], links.blocked_by ?? [], io, holder);
      const [why, events] = await Promise.all([whyBead(api, city, data), lastEvents(api, city, data.id)]);
      const reasons = data.status === 'closed' ? '' : because(why.reasons);
      await io.out(`${first ? '' : '\n'}${details}${reasons}${events}`);
      first = false;
    });
  });

  const graph = cityCommand(bead, 'graph', 'show a bead with everything below it as a tree')
    .argument('<id>', 'the root')
    .option('--json', 'print the whole graph as one JSON line');
  withExamples(graph, 'svc bead graph al-12', 'svc bead graph al-12 --json');
  graph.action(async (rootID: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, rootID } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/beads/graph/{rootID}', { params, signal }));
    return flags.json === true ? printJson(io, data) : io.out(treeOf(data, io.width));
  });
}

/** The session that works on a bead; undefined where there is none, or where it is not there any more. */
async function holderOf(api: Api, cityName: string, { status, metadata }: Bead): Promise<Session | undefined> {
  const id = metadata?.['gc.session_id'];
  if (status !== 'in_progress' || id === undefined) return undefined;
  try {
    return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}', { params: { path: { cityName, id } }, signal })))
      .data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
