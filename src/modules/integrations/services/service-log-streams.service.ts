import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { ahead, parseSeq } from '../../../platform/streams/cursor.js';
import { EventStreams, openerOf, type Opening } from '../../../platform/streams/event-streams.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ServiceLogHub, type LogFeed } from './service-log-hub.js';
import type { ServiceLogStreamQuery } from './services.schemas.js';
import { ServicesService } from './services.service.js';

/** Opens streams of what services write. Every refusal is a problem before any header. */
@Injectable()
export class ServiceLogStreams {
  constructor(
    private readonly services: ServicesService,
    private readonly hub: ServiceLogHub,
    private readonly streams: EventStreams,
  ) {}

  /** @throws ProblemError service_not_found, invalid_cursor, cursor_ahead, unavailable */
  async open(
    city: CityScope,
    name: string,
    caller: Principal,
    { tail }: ServiceLogStreamQuery,
    lastEventId: string | undefined,
  ): Promise<Opening> {
    const { pk, head } = await this.services.log(city, name);
    this.hub.assertOpen();
    this.streams.assertRoom();
    const after = positionOf(lastEventId?.trim(), head) ?? Math.max(0, head - tail);
    // Another replica may have given the client more than this one has read.
    await this.hub.caughtUp(pk, head);
    let feed: LogFeed | undefined;
    return this.streams.opening({
      ...openerOf(caller, city.name),
      take: (subscriber) => {
        if (this.hub.stopped) subscriber.end('');
        else feed = this.hub.attach(subscriber, pk, after, head);
      },
      closed: (subscriber) => feed?.channel.remove(subscriber),
    });
  }
}

function positionOf(given: string | undefined, head: number): number | undefined {
  if (given === undefined || given === '') return undefined;
  const after = parseSeq(given, 'Last-Event-ID');
  if (after <= head) return after;
  throw ahead('Last-Event-ID', `${after}`, `${head}`);
}
