import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/transactions.js';
import type { NewEvent } from '../../../platform/event-log/event.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { CITY_FILE as CITY, filesOf, SITE_FILE as SITE } from '../../configuration/config/documents.js';
import { ConfigEditsService, type EditAnswer, type EditRequest } from '../../configuration/config/config-edits.service.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { addRig, bindRig, importsOfNewRigs, type NewRig } from './rig-documents.js';
import { findRig, nameTaken, requireFreePrefix } from './rig-rules.js';

/** What a rig has become in the configuration. */
export interface MadeRig {
  readonly prefix: string;
}

interface Placing<T> {
  readonly request: EditRequest;
  readonly rig: NewRig;
  /** Runs once the edit has begun and the name is free, before anything is composed. */
  readonly prepare?: () => Promise<void>;
  readonly body: (made: MadeRig) => T;
  /** What else changes with it, in the transaction of the revision. */
  readonly within: (tx: Tx, made: MadeRig) => Promise<readonly NewEvent[]>;
}

/** Puts new rigs into a city's files, for requests and for workers. */
@Injectable()
export class RigEditsService {
  constructor(
    private readonly edits: ConfigEditsService,
    private readonly roster: RosterService,
  ) {}

  /** @throws ProblemError conflict when the name or the prefix is taken, and everything that an edit may answer */
  async place<T extends object>({ request, rig, prepare, body, within }: Placing<T>): Promise<EditAnswer<T>> {
    const { city } = request;
    return this.edits.run(request, async (draft) => {
      const { name } = rig;
      if (findRig(draft.current, name) !== undefined) throw nameTaken(name);
      requireFreePrefix(rig.prefix, name, await this.roster.rigs(city.streamId));
      await prepare?.();
      const files = await Promise.all(filesOf(await draft.document(CITY)).map((file) => draft.document(file)));
      await draft.edit(CITY, (document) => addRig(document, rig, importsOfNewRigs(files)));
      await draft.edit(SITE, (document) => bindRig(document, name, rig.path));
      // The prefix of a rig that declares none is known once the roster has it.
      const answer = {} as T;
      return {
        body: answer,
        within: async (tx) => {
          const made = { prefix: await this.#prefixOf(tx, city, name) };
          Object.assign(answer, body(made));
          return within(tx, made);
        },
      };
    });
  }

  async #prefixOf(tx: Tx, city: CityScope, name: string): Promise<string> {
    const rigs = await this.roster.rigs(city.streamId, tx);
    return rigs.find((rig) => rig.name === name)!.prefix;
  }
}
