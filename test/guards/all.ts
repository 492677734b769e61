import { AUDIT } from './audit.js';
import { CLIENT } from './client.js';
import { COMPOSITION_GUARDS } from './composition.js';
import { CONFIGURATION } from './configuration.js';
import { FORMULAS } from './formulas.js';
import { DIRECTORIES } from './directories.js';
import type { Guard } from './guard.js';
import { HTTP } from './http.js';
import { ISOLATION } from './isolation.js';
import { LOCKS } from './locks.js';
import { MAINTENANCE } from './maintenance.js';
import { NETWORK } from './network.js';
import { EXTMSG } from './extmsg.js';
import { ORDERS } from './orders.js';
import { PAGE } from './page.js';
import { DATABASE } from './database.js';
import { DEPLOYMENT } from './deployment.js';
import { EVENT_LOG_GUARDS } from './event-log.js';
import { PLATFORM } from './platform.js';
import { STREAMS } from './streams.js';
import { DRAIN_GUARDS } from './drains.js';
import { RUN_CONTROL } from './run-control.js';
import { RUN_GUARDS } from './runs.js';
import { RUNTIME } from './runtime.js';
import { SCALE_CHECKS } from './scale-checks.js';
import { SERVICES } from './services.js';
import { RUNNER_GUARDS } from './runners.js';
import { SUPPLY_GUARDS } from './pools.js';
import { MESSAGE_GUARDS } from './messages.js';
import { SESSIONS } from './sessions.js';
import { TELEMETRY } from './telemetry.js';
import { THREADS } from './threads.js';
import { TLS } from './tls.js';
import { BEAD_GUARDS } from './beads.js';
import { ADMINISTRATION_GUARDS } from './administration.js';
import { WORK } from './work.js';

export const GUARDS: readonly Guard[] = [
  ...EVENT_LOG_GUARDS,
  ...STREAMS,
  ...DATABASE,
  ...DEPLOYMENT,
  ...PLATFORM,
  ...BEAD_GUARDS,
  ...ADMINISTRATION_GUARDS,
  ...WORK,
  ...RUNNER_GUARDS,
  ...SUPPLY_GUARDS,
  ...MESSAGE_GUARDS,
  ...SESSIONS,
  ...SCALE_CHECKS,
  ...RUNTIME,
  ...LOCKS,
  ...COMPOSITION_GUARDS,
  ...CONFIGURATION,
  ...FORMULAS,
  ...RUN_CONTROL,
  ...DRAIN_GUARDS,
  ...RUN_GUARDS,
  ...ORDERS,
  ...MAINTENANCE,
  ...EXTMSG,
  ...SERVICES,
  ...DIRECTORIES,
  ...HTTP,
  ...ISOLATION,
  ...AUDIT,
  ...NETWORK,
  ...PAGE,
  ...TLS,
  ...CLIENT,
  ...THREADS,
  ...TELEMETRY,
];
