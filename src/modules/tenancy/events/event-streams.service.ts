import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { EventStreams, openerOf, type Opening } from '../../../platform/streams/event-streams.js';
import { CitiesService } from '../cities/cities.service.js';
import type { CityStreamQuery, SupervisorStreamQuery } from './event-streams.schemas.js';

/** Who may open which stream. Positions and frames are the streams room's. */
@Injectable()
export class EventStreamsService {
  constructor(
    private readonly streams: EventStreams,
    private readonly cities: CitiesService,
  ) {}

  async openCity(name: string, caller: Principal, query: CityStreamQuery, lastEventId: string | undefined): Promise<Opening> {
    await this.cities.requireRunning(name, caller);
    return this.streams.openCity({
      stream: name,
      lastEventId,
      afterSeq: query.after_seq,
      types: sorted(query.type),
      ...openerOf(caller, name),
    });
  }

  async openSupervisor(caller: Principal, query: SupervisorStreamQuery, lastEventId: string | undefined): Promise<Opening> {
    const asked = query.cities?.filter((city) => maySee(caller, city)) ?? caller.cities;
    return this.streams.openSupervisor({
      lastEventId,
      afterCursor: query.after_cursor,
      cities: sorted(asked),
      types: sorted(query.type),
      ...openerOf(caller, undefined),
    });
  }
}

/** Equal filters share one group of subscribers, however they are written. */
function sorted(values: readonly string[] | undefined): readonly string[] | undefined {
  return values === undefined ? undefined : [...new Set(values)].sort();
}
