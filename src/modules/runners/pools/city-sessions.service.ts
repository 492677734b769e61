import { Injectable } from '@nestjs/common';
import { sleep } from '../../../platform/time/clock.js';
import { PoolPass } from './pool-pass.service.js';
import { PoolStateRepository } from './pool-state.repository.js';

const LOOK_MS = 250;

/** The processes of a city as a whole: they end before the city's stop is told. */
@Injectable()
export class CitySessions {
  constructor(
    private readonly repository: PoolStateRepository,
    private readonly pass: PoolPass,
  ) {}

  /**
   * Has all processes of a city that shall not run stopped, and waits for that up to `limitMs`. True when none is left; what
   * is left then stops later, told to whoever reads the log.
   */
  async stopAll(stream: string, limitMs: number, signal?: AbortSignal): Promise<boolean> {
    const [found] = await this.repository.named(stream);
    if (found === undefined) return true;
    const until = performance.now() + limitMs;
    for (;;) {
      if ((await this.repository.withProcess(found.streamId)) === 0) return true;
      const city = await this.repository.city(found.streamId);
      if (city === undefined || city.is === 'running') return false;
      await this.pass.run(city);
      if (performance.now() >= until || signal?.aborted === true) return false;
      await sleep(LOOK_MS, signal);
    }
  }
}
