import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ControllerStopped } from '../../../contract/events/cities.events.js';
import { AppConfig } from '../../../platform/config/config.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { ClaimedOperation, OperationContext, OperationDefinition, OperationOutcome } from '../../../platform/operations/operation.js';
import { Operations } from '../../../platform/operations/operations.js';
import {
  CityCreate,
  CityOperationInput,
  CityRegister,
  CityStart,
  CityStop,
  CityUnregister,
} from '../../tenancy/cities/cities.operations.js';
import { CitySessions } from '../../runners/pools/city-sessions.service.js';
import { ACTOR } from '../../tenancy/cities/actor.js';
import { CityBringUp } from './city-bringup.js';
import { CityStateRepository } from './city-state.repository.js';

type Claimed = ClaimedOperation<CityOperationInput>;
type Definition = OperationDefinition<typeof CityOperationInput>;

/** How long a stop waits for processes to end; those that take longer end afterwards. Less than the operations' time. */
const STOP_SESSIONS_MS = 40_000;

/** The handlers of the cities' operations. Only one unfinished operation a city exists, so they never meet each other. */
@Injectable()
export class BringUpReconciler implements OnModuleInit {
  constructor(
    private readonly config: AppConfig,
    private readonly operations: Operations,
    private readonly bringUp: CityBringUp,
    private readonly state: CityStateRepository,
    private readonly sessions: CitySessions,
  ) {}

  onModuleInit(): void {
    // The writers of the city's work first, then its row: the one order, for starting as for stopping.
    const lock = (tx: Tx, name: string): Promise<void> => this.state.lockWork(tx, name);
    for (const definition of [CityCreate, CityRegister, CityStart] as Definition[]) {
      this.operations.registerHandler({
        definition,
        lock,
        run: (operation, context) => this.#initialize(operation, context),
        failed: (tx, operation, code, message) => this.#initializationFailed(tx, operation, code, message),
      });
    }
    this.operations.registerHandler({
      definition: CityStop as Definition,
      lock,
      run: (operation, context) => this.#stop(operation, context),
      failed: async (tx, operation) => {
        await this.state.revertStop(tx, operation.input.name);
        return [];
      },
    });
    this.operations.registerHandler({
      definition: CityUnregister as Definition,
      lock,
      run: (operation, context) => this.#unregister(operation, context),
    });
  }

  async #initialize({ input }: Claimed, context: OperationContext): Promise<OperationOutcome> {
    const { name, path } = input;
    const payload = { name, path };
    const held = await context.progressWith('loading_config', this.state.take(name, this.config.processId));
    if (held === undefined) return { ok: false, code: 'city_init_failed', message: 'the city is not registered any more' };
    if (held.running) return { ok: true, payload };
    const result = await this.bringUp.run(held, (phase, publish) => context.progressWith(phase, publish), context.signal);
    if ('found' in result) return { ok: true, payload, within: (tx) => this.bringUp.succeed(tx, held, result.found) };
    const { code, message } = result.failure;
    return {
      ok: false,
      code,
      message,
      within: async (tx) => {
        await this.bringUp.fail(tx, held, result.failure);
        return [];
      },
    };
  }

  async #initializationFailed(tx: Tx, { input }: Claimed, code: string, message: string): Promise<NewEvent[]> {
    await this.state.failByName(tx, input.name, { code, message, failureClass: 'transient', configHash: null });
    return [];
  }

  async #stop({ input }: Claimed, context: OperationContext): Promise<OperationOutcome> {
    const { name, path } = input;
    await context.progress('stopping');
    await this.sessions.stopAll(name, STOP_SESSIONS_MS, context.signal);
    context.signal.throwIfAborted();
    return {
      ok: true,
      payload: { name, path },
      within: async (tx) => ((await this.state.stop(tx, name)) === true ? [stopped(name)] : []),
    };
  }

  /** The registry entry is gone since the request; what is left is to say that the controller stopped. */
  async #unregister({ input }: Claimed, context: OperationContext): Promise<OperationOutcome> {
    const { name, path, running } = input;
    await context.progress('stopping');
    await this.sessions.stopAll(name, STOP_SESSIONS_MS, context.signal);
    context.signal.throwIfAborted();
    return { ok: true, payload: { name, path }, within: () => Promise.resolve(running ? [stopped(name)] : []) };
  }
}

function stopped(name: string): NewEvent {
  return event(ControllerStopped, { stream: name, actor: ACTOR, subject: name, payload: {} });
}
