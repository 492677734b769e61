import { Injectable } from '@nestjs/common';
import { may, RIGHTS, type Principal } from '../../../contract/principal.js';
import { VERSION } from '../../../contract/version.js';
import { AppConfig } from '../../../platform/config/config.js';
import { differenceOf, knownMigrations } from '../../../platform/database/migrator.js';
import { hostFileFault, hostFileOf } from '../../../platform/isolation/host-file.js';
import { Clock } from '../../../platform/time/clock.js';
import { InfoRepository } from './info.repository.js';
import { placesOf } from './places.js';
import type { InfoCaller, SupervisorInfo } from './info.schemas.js';

const LISTED = 1_000;

/** How the supervisor is set up: what a person wants to know who looks for a mistake in it. */
@Injectable()
export class InfoService {
  constructor(
    private readonly repository: InfoRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  async info(caller: Principal): Promise<SupervisorInfo> {
    const { auth, readOnly, tls, heartbeatMs } = this.config;
    return {
      version: VERSION,
      time: this.clock.now().toISOString(),
      auth,
      read_only: readOnly,
      tls: tls !== undefined,
      heartbeat_ms: heartbeatMs,
      caller: await this.#caller(caller),
      ...(caller.cities === undefined ? { deployment: await this.#deployment() } : {}),
    };
  }

  async #caller(caller: Principal): Promise<InfoCaller> {
    const { actor: name, keyId, session, cities = null } = caller;
    const rights = RIGHTS.filter((right) => may(caller, right));
    const key = session === undefined ? keyId : undefined;
    const kind = session !== undefined ? 'session' : key === undefined ? 'anybody' : 'key';
    const expires = key === undefined ? null : await this.repository.keyExpiry(key);
    return {
      kind,
      name,
      ...(key === undefined ? {} : { id: key }),
      rights,
      cities: cities === null ? null : [...cities],
      expires_at: expires?.toISOString() ?? null,
    };
  }

  async #deployment(): Promise<NonNullable<SupervisorInfo['deployment']>> {
    const [{ version, migrations }, known, processes, places] = await Promise.all([
      this.repository.database(),
      knownMigrations(),
      this.repository.processes(LISTED),
      placesOf(this.config),
    ]);
    // A disk that does not answer has no place, and would keep the answer waiting.
    const host_file_fault = places.some(({ place }) => place === 'data') ? await hostFileFault(hostFileOf(this.config)) : undefined;
    return {
      database: {
        version,
        schema: migrations.at(-1) ?? '',
        ...differenceOf(migrations, known),
      },
      queue: this.config.redisUrl === undefined ? 'postgres' : 'redis',
      places,
      ...(host_file_fault === undefined ? {} : { host_file_fault }),
      processes: processes.slice(0, LISTED),
      ...(processes.length > LISTED ? { partial: true } : {}),
    };
  }
}
