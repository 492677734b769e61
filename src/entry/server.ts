import { ConfigError, loadConfig, type AppConfig } from '../platform/config/config.js';
import { misspelled } from '../platform/config/misspelled.js';
import { processesOf } from '../platform/config/processes.js';
import { unknownTelemetry } from '../platform/config/telemetry.js';
import { armedFailpoints } from '../platform/failpoints/arm.js';
import { explain } from './explain.js';
import type { Service, StartOptions } from './service.js';
import { onSignals } from './signals.js';
import { welcome } from './welcome.js';

function configure(): AppConfig {
  const env = { ...process.env };
  // A person at a terminal wants the addresses, not a line of JSON a request.
  if (process.stdout.isTTY && env.SVC_DATABASE_URL === undefined) env.SVC_LOG_LEVEL ??= 'warn';
  try {
    return loadConfig(env, process.cwd());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

/** Whichever it is, only that is loaded. */
async function serviceFor(config: AppConfig, options: StartOptions): Promise<Service> {
  const answering = processesOf(config);
  if (answering === 1) return new (await import('./supervisor.js')).Supervisor(config, options);
  return new (await import('./processes/primary.js')).Primary(config, answering, options);
}

async function main(): Promise<void> {
  const config = configure();
  const supervisor = await serviceFor(config, {
    sudoUid: process.env.SUDO_UID,
    failpoints: armedFailpoints(process.env.SVC_TEST_FAILPOINTS),
    onStep: (what) => console.log(`${what} …`),
    onElsewhere: (what) => console.log(what),
    onLost: () => {
      supervisor.logger.fatal('the embedded PostgreSQL has ended');
      void end(1);
    },
  });

  for (const { variable, meant } of misspelled(process.env))
    supervisor.logger.warn({ variable }, `${variable} is no variable of the service, and nobody reads it: ${meant} is one`);
  for (const { variable, value, instead } of unknownTelemetry(process.env))
    supervisor.logger.warn({ variable }, `${variable} says ${value}, which the service does not have: ${instead}`);

  const end = async (code: number): Promise<never> => {
    await supervisor.stop().catch((error: unknown) => supervisor.logger.error({ err: error }, 'the stop failed'));
    process.exit(code);
  };
  onSignals(
    () => void end(0),
    () => supervisor.abandon(),
  );
  const broken = (kind: string) => (error: unknown) => {
    supervisor.logger.fatal({ err: error }, kind);
    void end(1);
  };
  process.on('unhandledRejection', broken('unhandled rejection'));
  process.on('uncaughtException', broken('uncaught exception'));

  try {
    const { url, walls } = await supervisor.start();
    if (!supervisor.stopping) welcome(config, url, process.cwd(), walls);
  } catch (error) {
    if (!supervisor.stopping) console.error(explain(error, config));
    await end(1);
  }
}

await main();
