import { basename } from 'node:path';
import type { Command } from 'commander';
import { ask } from '../api.js';
import { contextOf, flagsOf, keyHeader, withCity, withExamples, withTarget } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { cityName } from './city-name.js';
import { defined, NETWORK, networkOf } from '../values.js';
import { runOperation, withOperation } from './lifecycle.js';
import { addReads } from './reads.command.js';

interface CreateFlags {
  readonly name?: string;
  readonly provider?: string;
  readonly startCommand?: string;
  readonly network?: string;
  readonly bootstrapProfile?: 'k8s-cell' | 'kubernetes' | 'kubernetes-cell' | 'single-host-compat';
}

export function addCity(program: Command, io: Io): void {
  const city = program.command('city').description('create, start, stop and look at cities');
  addCreate(city, io);
  addReads(city, io);
  addByName(city, io, 'stop', 'stopping', (name) => `${name} is stopped; it stays registered`);
  addByName(city, io, 'start', 'starting', (name) => `${name} is running`);
  addByName(city, io, 'unregister', 'unregistering', (name, path) => `${name} is unregistered; its directory stays: ${path}`);
  addRegister(city, io);
  addSuspension(city, io, 'suspend', true);
  addSuspension(city, io, 'resume', false);
}

function addCreate(city: Command, io: Io): void {
  const create = city
    .command('create')
    .argument('<dir>', "directory of the city, below the supervisor's root of cities")
    .description('scaffold and register a city and wait until it runs')
    .option('--name <name>', "name of the city (default: the directory's)")
    .option('--provider <name>', 'agent provider, such as claude, codex or loopback')
    .option('--start-command <command>', 'start agents with this command instead of a provider')
    .option('--network <hosts>', NETWORK)
    .option('--bootstrap-profile <profile>', 'k8s-cell or single-host-compat');
  withTarget(withOperation(create));
  withExamples(
    create,
    'svc city create alpha --provider loopback',
    'svc city create gamma --provider claude --network api.anthropic.com,*.example.org',
    'svc city create work/beta --name beta --provider claude --no-wait --json',
  );
  create.action(async (dir: string, _options, command: Command) => {
    const flags = flagsOf<CreateFlags>(command);
    if ((flags.provider === undefined) === (flags.startCommand === undefined)) {
      throw new CliError('give either --provider or --start-command (try --provider loopback)');
    }
    const body = {
      dir,
      ...(flags.name === undefined ? {} : { name: flags.name }),
      ...(flags.provider === undefined ? {} : { provider: flags.provider }),
      ...(flags.startCommand === undefined ? {} : { start_command: flags.startCommand }),
      ...defined({ network: networkOf(flags.network) }),
      ...(flags.bootstrapProfile === undefined ? {} : { bootstrap_profile: flags.bootstrapProfile }),
    };
    const name = flags.name ?? basename(dir);
    await runOperation(command, io, {
      operation: 'city.create',
      city: name,
      title: `creating ${name}`,
      success: (path) => `${name} is running: ${path}`,
      begin: async ({ api }, options) =>
        (await ask(api, (signal) => api.http.POST('/v0/city', { params: { header: keyHeader(options) }, body, signal }))).data,
    });
  });
}

function addRegister(city: Command, io: Io): void {
  const register = city
    .command('register')
    .argument('<dir>', 'directory that holds the scaffold of a city')
    .description('attach the directory of an unregistered city again and wait until it runs')
    .option('--name <name>', "name of the city (default: the directory's)");
  withTarget(withOperation(register));
  withExamples(register, 'svc city register alpha');
  register.action(async (dir: string, _options, command: Command) => {
    const { name: given } = flagsOf<CreateFlags>(command);
    const name = given ?? basename(dir);
    const body = { dir, ...(given === undefined ? {} : { name: given }) };
    await runOperation(command, io, {
      operation: 'city.register',
      city: name,
      title: `registering ${name}`,
      success: (path) => `${name} is running: ${path}`,
      begin: async ({ api }, options) =>
        (await ask(api, (signal) => api.http.POST('/v0/cities/register', { params: { header: keyHeader(options) }, body, signal }))).data,
    });
  });
}

type Verb = 'stop' | 'start' | 'unregister';

function addByName(city: Command, io: Io, verb: Verb, doing: string, success: (name: string, path: string) => string): void {
  const purpose = {
    stop: 'stop a city; it stays registered',
    start: 'start a stopped city, or try again at once when its start failed',
    unregister: 'forget a city; its directory is left alone',
  };
  const command = city.command(verb).argument('[name]', 'the city (default: as --city)').description(purpose[verb]);
  withCity(withTarget(withOperation(command)));
  withExamples(command, `svc city ${verb} alpha`, `svc city ${verb} alpha --timeout 2m --json`);
  command.action(async (given: string | undefined, _options, action: Command) => {
    const name = await cityName(given, contextOf(action, io));
    await runOperation(action, io, {
      operation: `city.${verb}`,
      city: name,
      title: `${doing} ${name}`,
      success: (path) => success(name, path),
      begin: async ({ api }, options) => {
        const params = { path: { cityName: name }, header: keyHeader(options) };
        return (await ask(api, (signal) => api.http.POST(`/v0/city/{cityName}/${verb}`, { params, signal }))).data;
      },
    });
  });
}

function addSuspension(city: Command, io: Io, verb: 'suspend' | 'resume', suspended: boolean): void {
  const command = city
    .command(verb)
    .argument('[name]', 'the city (default: as --city)')
    .description(suspended ? 'keep agents from being started' : 'let agents be started again');
  withCity(withTarget(command));
  withExamples(command, `svc city ${verb} alpha`);
  command.action(async (given: string | undefined, _options, action: Command) => {
    const context = contextOf(action, io);
    const name = await cityName(given, context);
    const params = { path: { cityName: name } };
    await ask(context.api, (signal) => context.api.http.PATCH('/v0/city/{cityName}', { params, body: { suspended }, signal }));
    await io.out(`${name} is ${suspended ? 'suspended' : 'resumed'}\n`);
  });
}
