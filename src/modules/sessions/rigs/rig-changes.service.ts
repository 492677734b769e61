import { Injectable } from '@nestjs/common';
import { RigResumed, RigSuspended } from '../../../contract/events/config.events.js';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { Expected } from '../../../platform/http/if-match.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigEditsService, type EditAnswer } from '../../configuration/config/config-edits.service.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { CITY_FILE as CITY, filesOf, ROOT_PACK as PACK, SITE_FILE as SITE, type Document } from '../../configuration/config/documents.js';
import type { Draft } from '../../configuration/config/draft.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { changeRig, mentionsOf, moveRig, removeMentions, removeRig, unbindRig, uncoverRig } from './rig-documents.js';
import { makeDirectory, removeEmpty, type RigPlace } from './rig-place.js';
import { RigPlaces } from './rig-places.js';
import { RigRestarts } from './rig-restarts.service.js';
import { branchIn, filled, findRig, noRig, prefixIn, requireFreePrefix, requireRig } from './rig-rules.js';
import type { RigAction, RigActionBody, RigUpdateInputBody } from './rigs.schemas.js';

const MENTIONS_SHOWN = 50;

/** Changes rigs that are there. */
@Injectable()
export class RigChangesService {
  constructor(
    private readonly places: RigPlaces,
    private readonly edits: ConfigEditsService,
    private readonly reads: ConfigReadsService,
    private readonly roster: RosterService,
    private readonly eventLog: EventLog,
    private readonly transactions: Transactions,
    private readonly restarts: RigRestarts,
  ) {}

  /** @throws ProblemError rig_not_found, invalid_request, conflict, wrong_state, and everything that an edit may answer */
  async update(
    city: CityScope,
    name: string,
    body: RigUpdateInputBody,
    expected: Expected,
    caller: Principal,
  ): Promise<EditAnswer<OKResponseBody>> {
    const given = filled(body.path);
    const prefix = prefixIn(body.prefix);
    const change = { prefix, defaultBranch: branchIn(body.default_branch), suspended: body.suspended };
    requireRig((await this.reads.current(city)).config, name);
    const isEmpty = Object.values(change).every((value) => value === undefined);
    if (given === undefined && isEmpty) throw problem('invalid_request', 'no fields to update', { at: 'body' });
    const place = given === undefined ? undefined : await this.places.find(given, city, caller);
    let made: string[] = [];
    try {
      return await this.edits.run({ city, caller, expected, rig: place?.directory }, async (draft) => {
        requireRig(draft.current, name);
        requireFreePrefix(prefix, name, await this.roster.rigs(city.streamId));
        if (place !== undefined) made = await makeDirectory(place.directory);
        if (!isEmpty) await draft.edit(CITY, (document) => changeRig(document, name, change));
        if (place !== undefined) await move(draft, name, place);
        for (const file of filesOf(await draft.document(CITY))) {
          const document = await draft.document(file);
          if (uncoverRig(document, name, { ...change, path: place?.path })) await draft.put(file, document);
        }
        return { body: { status: 'updated' } };
      });
    } catch (error) {
      const kept = place !== undefined && findRig((await this.reads.current(city)).config, name)?.path === place.path;
      if (!kept) await removeEmpty(made);
      throw error;
    }
  }

  /** @throws ProblemError rig_not_found, conflict naming what speaks of the rig, and everything that an edit may answer */
  remove(city: CityScope, name: string, cascade: boolean, expected: Expected, caller: Principal): Promise<EditAnswer<OKResponseBody>> {
    return this.edits.run({ city, caller, expected }, async (draft) => {
      requireRig(draft.current, name);
      const pack = (await draft.text(PACK)) === undefined ? undefined : await draft.document(PACK);
      const documents = new Map<string, Document>([[CITY, await draft.document(CITY)]]);
      if (pack !== undefined) documents.set(PACK, pack);
      const mentions = [...documents].flatMap(([file, document]) => mentionsOf(document, name).map((what) => ({ file, what })));
      if (mentions.length > 0 && !cascade) throw inUse(name, mentions);
      removeRig(documents.get(CITY)!, name);
      for (const [file, document] of documents) {
        removeMentions(document, name);
        if (file === CITY || mentions.some((mention) => mention.file === file)) await draft.put(file, document);
      }
      if ((await draft.text(SITE)) !== undefined) await draft.edit(SITE, (document) => unbindRig(document, name));
      return { body: { status: 'deleted' } };
    });
  }

  /** @throws ProblemError rig_not_found, city_not_found */
  async act(
    city: CityScope,
    name: string,
    action: RigAction,
    key: string | undefined,
    caller: Principal,
  ): Promise<{ body: RigActionBody; index: number }> {
    const { config, index } = await this.reads.current(city);
    const declared = requireRig(config, name).suspended_on_start;
    const body = { status: 'ok', action, rig: name };
    if (action === 'restart') return { body: { ...body, ...(await this.restarts.restart(city, name, key, caller)) }, index };
    const wanted = action === 'reset' ? null : action === 'suspend';
    return this.transactions.run(
      async (tx) => {
        if (!(await this.reads.isRunning(city, tx))) throw problem('city_not_found', `city not found or not running: ${city.name}`);
        const old = await this.roster.switchRig(tx, city.streamId, name, wanted);
        if (old === undefined) throw noRig(name);
        const is = wanted ?? declared;
        const events = is === (old.before ?? declared) ? [] : [switched(city, name, is, caller)];
        const appended = await this.eventLog.append(tx, events);
        return { body, index: appended.at(-1)?.seq ?? (await this.reads.head(city, tx)) };
      },
      { key: city.name },
    );
  }
}

async function move(draft: Draft, name: string, { path }: RigPlace): Promise<void> {
  const city = await draft.document(CITY);
  const site = await draft.document(SITE);
  moveRig(city, site, name, path);
  await draft.put(CITY, city);
  await draft.put(SITE, site);
}

function switched(city: CityScope, name: string, suspended: boolean, caller: Principal): NewEvent {
  const definition = suspended ? RigSuspended : RigResumed;
  return event(definition, { stream: city.stream, actor: caller.actor, subject: name, payload: { rig: name } });
}

function inUse(name: string, mentions: readonly { file: string; what: string }[]): Error {
  const shown = mentions.slice(0, MENTIONS_SHOWN);
  return problem(
    'conflict',
    `rig "${name}" is still named by ${shown.map(({ what }) => what).join(', ')}; change those, or remove them with cascade=true`,
    {
      errors: shown.map(({ file, what }) => ({ location: file, message: what })),
    },
  );
}
