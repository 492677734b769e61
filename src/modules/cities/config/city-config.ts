import { z } from 'zod';
import { isProviderName } from '../../providers/providers.catalogue.js';
import { readToml } from './city-files.js';
import { InitFailure } from './failure.js';

/**
 * `city.toml` and `pack.toml` as far as initialization needs them. Unknown keys are left to the families that will
 * know them; known keys must have their type.
 */
const Name = z.string().min(1);
const Workspace = z.looseObject({
  name: z.string().optional(),
  provider: Name.optional(),
  start_command: Name.optional(),
  session_template: z.string().optional(),
  prefix: Name.optional(),
  suspended_on_start: z.boolean().optional(),
  suspended: z.boolean().optional(),
  max_active_sessions: z.int().min(-1).optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const Provider = z.looseObject({ base: z.string().optional(), command: z.string().optional() });
const AgentTable = z.looseObject({ name: Name, provider: Name.optional(), prompt_template: Name.optional(), dir: z.string().optional() });
const NamedSession = z.looseObject({ name: Name.optional(), template: Name, mode: z.enum(['on_demand', 'always']).optional() });
const Import = z.looseObject({ source: Name, version: z.string().optional() });

const CityFile = z.looseObject({
  include: z.array(z.string()).optional(),
  workspace: Workspace.default({}),
  providers: z.record(z.string(), Provider).default({}),
  agent: z.array(AgentTable).default([]),
  named_session: z.array(NamedSession).default([]),
  rigs: z.array(z.looseObject({ name: Name, path: z.string().optional(), prefix: Name.optional() })).default([]),
  api: z
    .looseObject({
      port: z.int().min(0).max(65_535).optional(),
      bind: z.string().optional(),
      allow_mutations: z.boolean().optional(),
    })
    .optional(),
});
const PackFile = z.looseObject({
  pack: z.looseObject({ name: Name, schema: z.int().min(1).max(2), version: z.string().optional() }),
  agent: z.array(AgentTable).default([]),
  named_session: z.array(NamedSession).default([]),
  imports: z.record(z.string(), Import).default({}),
});
export type CityFile = z.infer<typeof CityFile>;
export type PackFile = z.infer<typeof PackFile>;
export type AgentTable = z.infer<typeof AgentTable>;

/** Reads and checks `city.toml`. @throws InitFailure `city_config_failed` */
export async function loadCityFile(dir: string): Promise<CityFile> {
  const code = 'city_config_failed';
  const document = await readToml(dir, 'city.toml', code);
  if (document === undefined) throw new InitFailure(code, 'city.toml is missing', 'transient');
  const city = check(CityFile, document, 'city.toml', code);
  const { workspace, providers } = city;
  if (isTable(document.formulas) && 'dir' in document.formulas) {
    throw new InitFailure(code, 'city.toml: [formulas].dir is not supported; formulas lie in formulas/');
  }
  if (workspace.provider !== undefined && workspace.start_command !== undefined) {
    throw new InitFailure(code, 'city.toml: workspace.provider and workspace.start_command are mutually exclusive');
  }
  if (workspace.provider === undefined && workspace.start_command === undefined && city.include === undefined) {
    throw new InitFailure(code, 'city.toml: workspace.provider or workspace.start_command is required');
  }
  if (workspace.provider !== undefined && providers[workspace.provider] === undefined && !isProviderName(workspace.provider)) {
    throw new InitFailure(code, `city.toml: unknown provider "${workspace.provider}"; add [providers.${workspace.provider}]`);
  }
  const twice = repeated(city.rigs.map((rig) => rig.name));
  if (twice !== undefined) throw new InitFailure(code, `city.toml: two rigs are named "${twice}"`);
  if (city.rigs.some((rig) => rig.name === '*')) throw new InitFailure(code, 'city.toml: a rig cannot be named "*"');
  requirePrefixes(city);
  return city;
}

const PREFIX = /^[a-z][a-z0-9]{0,11}$/;

/** Prefixes make ids, so two rigs with the same one would share theirs. Letter case does not tell them apart. */
function requirePrefixes({ workspace, rigs }: CityFile): void {
  const declared = [workspace.prefix, ...rigs.map((rig) => rig.prefix)].flatMap((prefix) => prefix?.toLowerCase() ?? []);
  for (const prefix of declared)
    if (!PREFIX.test(prefix)) throw new InitFailure('city_config_failed', `city.toml: prefix "${prefix}" must match ${PREFIX.source}`);
  const twice = repeated(declared);
  if (twice !== undefined) throw new InitFailure('city_config_failed', `city.toml: the prefix "${twice}" is used twice`);
}

/** Reads and checks `pack.toml`. @throws InitFailure `pack_cache_failed` */
export async function loadPackFile(dir: string): Promise<PackFile> {
  const code = 'pack_cache_failed';
  const document = await readToml(dir, 'pack.toml', code);
  if (document === undefined) throw new InitFailure(code, 'pack.toml is missing', 'transient');
  return check(PackFile, document, 'pack.toml', code);
}

export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, at) => names.indexOf(name) !== at);
}

function check<T extends z.ZodType>(schema: T, document: unknown, file: string, code: string): z.output<T> {
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new InitFailure(code, `${file}: ${issue.path.join('.')}: ${issue.message}`, 'structural', { cause: parsed.error });
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
