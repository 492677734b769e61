import { MaintenanceTimings } from '../../src/modules/administration/maintenance/maintenance-timings.js';
import { PoolPass } from '../../src/modules/runners/pools/pool-pass.service.js';
import { AgentRuntimes } from '../../src/modules/runners/runners/ports.js';
import { RunnerTimings } from '../../src/modules/runners/runners/runner-timings.js';
import { ServiceRoutes } from '../../src/modules/integrations/services/proxy/service-routes.js';
import type { ForwardLimits } from '../../src/modules/integrations/services/proxy/forward-places.js';
import { Forwarding } from '../../src/modules/integrations/services/proxy/forwarding.js';
import { ServiceTimings } from '../../src/modules/integrations/services/service-timings.js';
import { AcpRuntime } from '../../src/platform/runtime/acp/acp-runtime.js';
import type { Stack } from './app.js';

/** Times of the worker processes of a stack that a test makes shorter, or has to know. */
const workers = (stack: Stack) => stack.apps.filter(({ config }) => config.role === 'worker').map(({ app }) => app);

/** How long a runner's lease is, in milliseconds. */
export const RUNNER_LEASE_MS = new RunnerTimings().leaseMs;

/** Who should be awake is looked at twenty times a second, in place of once. */
export function lookOften(stack: Stack): void {
  for (const app of workers(stack)) app.get(PoolPass, { strict: false }).betweenMs = 50;
}

/** A cycle of maintenance is taken from no worker because this machine has other things to do. */
export function keepCycles(stack: Stack): void {
  const long = { leaseMs: 600_000, holdMs: 500_000 };
  for (const app of workers(stack)) Object.assign(app.get(MaintenanceTimings, { strict: false }), long);
}

/** Processes that heed nothing are ended by the same steps, each of which is soon over. */
export function endSoon(stack: Stack): void {
  const runtime = new AcpRuntime({ limits: { inputMs: 200, termMs: 200 } }, { acceptedMs: 100, cancelMs: 200 });
  for (const app of workers(stack)) app.get(AgentRuntimes, { strict: false }).of = () => runtime;
}

/**
 * A machine that has other things to do loses no lease, and finds nothing ill. What fails is left to its lease: that has to run out,
 * and the work to be done again, before a test gives up.
 */
const PATIENT = { leaseMs: 40_000, holdMs: 30_000, readyMs: 120_000, healthMs: 60_000, healthTimeoutMs: 60_000 };

/** Services are followed, taken over and looked after within moments; given limits, what they may take, too. */
export function serveSoon(stack: Stack, timings: Partial<ServiceTimings> = {}, limits: Partial<ForwardLimits> = {}): void {
  const soon = { syncMs: 50, pollMs: 50, lookMs: 20, backoffMs: 20, maxBackoffMs: 100, drainMs: 100, ...PATIENT, ...timings };
  for (const app of workers(stack)) Object.assign(app.get(ServiceTimings, { strict: false }), soon);
  for (const { app, config } of stack.apps)
    if (config.role !== 'worker') Object.assign(app.get(Forwarding, { strict: false }).limits, limits);
}

/** An api looks where services are only when the test says so; how many wait for that. */
export function holdRoutes(app: Stack['apps'][number]['app']): { readonly asked: () => number; readonly go: () => void } {
  const routes = app.get(ServiceRoutes, { strict: false });
  let asked = 0;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  routes.read = async (name, service) => {
    asked++;
    await held;
    return ServiceRoutes.prototype.read.call(routes, name, service);
  };
  const go = (): void => {
    Reflect.deleteProperty(routes, 'read');
    release();
  };
  return { asked: () => asked, go };
}
