import { Injectable } from '@nestjs/common';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import type { LaunchPlan, Parts, Template } from './launch.js';
import { LaunchPlanner, type LaunchCity } from './launch-planner.js';
import { startHash } from './start-hash.js';
import { fingerprintNow, partsNow } from './place-fingerprint.js';
import { checkOptions, templateOf } from './template.js';

/** What sessions are made from and how their processes are started. */
@Injectable()
export class LaunchService {
  constructor(private readonly planner: LaunchPlanner) {}

  /**
   * What a session of this name is made from. A bare name that only one agent has is accepted.
   *
   * @throws ProblemError agent_not_found, provider_not_found, provider_not_ready for a transport that the provider has not
   */
  template(config: CityConfig, kind: 'agent' | 'provider', name: string): Template {
    return templateOf(config, kind, name);
  }

  /** @throws ProblemError invalid_request naming the first option that is unknown or has a value that it cannot have */
  validateOptions(template: Template, options: Readonly<Record<string, string>>): void {
    checkOptions(template, options);
  }

  /**
   * How the process of `row.generation` is started: `row` is what the start has committed. Makes the working directory
   * where it is the city's to make.
   *
   * @param token what the process may call the API with (`SessionTokens.mint`).
   * @throws StartError `not_found` or `unsupported`, in words for the owner of the city, when it cannot be started; `timeout`
   * when it may be possible later
   */
  plan(city: LaunchCity, row: SessionRow, token?: string): Promise<LaunchPlan> {
    return this.planner.plan(city, row, token);
  }

  /**
   * `LaunchPlan.fingerprint` as the plan of this session would have it now; undefined when nothing says any more how it is
   * started. Costs no I/O.
   */
  fingerprint(config: CityConfig, row: Pick<SessionRow, 'kind' | 'template' | 'options'>): string | undefined {
    return fingerprintNow(config, row);
  }

  /** As `startHash`: changes with everything that a failed start may be mended by. */
  startHash(config: CityConfig, row: Pick<SessionRow, 'kind' | 'template' | 'options'>): string | undefined {
    return startHash(config, row);
  }

  /** `LaunchPlan.parts` in the same way. */
  parts(config: CityConfig, row: Pick<SessionRow, 'kind' | 'template' | 'options'>): Parts | undefined {
    return partsNow(config, row);
  }
}
