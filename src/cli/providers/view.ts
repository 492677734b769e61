import type { Schemas } from '../api.js';
import { showDuration } from '../duration.js';
import type { Io } from '../io.js';
import { block, facts, table } from '../table.js';

export type Provider = Schemas['ProviderResponse'];
export type PublicProvider = Schemas['ProviderPublicResponse'];

/** Who defines a provider. */
export function originOf({ builtin, city_level: city }: Pick<Provider, 'builtin' | 'city_level'>): string {
  if (!city) return 'builtin';
  return builtin ? 'city, over a builtin' : 'city';
}

/** What agents reach, in one line. */
export function reachOf(network: Schemas['NetworkRule'] | undefined): string | undefined {
  return typeof network === 'object' ? ['api', ...network].join(', ') : network;
}

/** A command line as a shell would take it. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

export function providerTable(providers: readonly Provider[], io: Io): string {
  const rows = providers.map((one) => [one.name, originOf(one), one.base ?? '', one.command ?? '', one.display_name ?? '']);
  return table(['PROVIDER', 'DEFINED BY', 'BASE', 'COMMAND', 'CALLED'], rows, io);
}

export function providerDetails(one: Provider): string {
  const line = (args: readonly string[] | null | undefined): string | undefined => (args ? commandLine(args) : undefined);
  const parts = [
    facts([
      ['name', one.name],
      ['called', one.display_name],
      ['defined by', originOf(one)],
      ['base', one.base],
      ['command', one.command],
      ['arguments', line(one.args)],
      ['added arguments', line(one.args_append)],
      ['acp command', one.acp_command],
      ['acp arguments', line(one.acp_args)],
      ['prompt', one.prompt_mode === undefined ? undefined : [one.prompt_mode, one.prompt_flag ?? ''].join(' ').trim()],
      ['ready after', one.ready_delay_ms === undefined ? undefined : showDuration(one.ready_delay_ms)],
      ['options', pairs(one.option_defaults)?.join(', ')],
      ['options schema', one.options_schema_merge],
      ['network', reachOf(one.network)],
    ]),
  ];
  const env = pairs(one.env);
  if (env !== undefined && env.length > 0) parts.push(`environment:\n${block(env.join('\n'))}`);
  return parts.join('\n');
}

const pairs = (map: Readonly<Record<string, string>> | undefined): string[] | undefined =>
  map && Object.entries(map).map(([name, value]) => `${name}=${value}`);

/** One row an option: what there is to choose of each provider. */
export function publicTable(providers: readonly PublicProvider[], io: Io): string {
  const rows = providers.flatMap(({ name, options_schema = [], effective_defaults = {} }) =>
    options_schema.length === 0
      ? [[name, '', '', '']]
      : options_schema.map((option) => [
          name,
          option.key,
          effective_defaults[option.key] ?? option.default,
          option.choices.map(({ value }) => value).join(', '),
        ]),
  );
  return table(['PROVIDER', 'OPTION', 'DEFAULT', 'CHOICES'], rows, io);
}
