import { z } from 'zod';
import { boundedMap } from '../../../contract/bounded-map.js';
import { NetworkRule } from '../../../contract/network.js';
import { contract } from '../../../contract/registry.js';
import { int64, text, warnings } from '../../../contract/scalars.js';

const strings = z.array(z.string());
const stringMap = z.record(z.string(), z.string());

/** A provider as the files say it, before inheritance. Values of `env` are masked. */
export const ProviderResponse = contract(
  'ProviderResponse',
  z.strictObject({
    name: z.string(),
    builtin: z.boolean(),
    city_level: z.boolean(),
    display_name: z.string().optional(),
    base: z.string().optional(),
    command: z.string().optional(),
    args: strings.nullable().optional(),
    args_append: strings.optional(),
    acp_command: z.string().optional(),
    acp_args: strings.optional(),
    prompt_mode: z.string().optional(),
    prompt_flag: z.string().optional(),
    ready_delay_ms: int64.optional(),
    env: stringMap.optional(),
    option_defaults: stringMap.optional(),
    options_schema_merge: z.string().optional(),
    network: NetworkRule.optional(),
  }),
  'As it is written, before inheritance. `builtin`: the product knows the name; `city_level`: the city defines it. ' +
    'Values of `env` and secrets on command lines are masked; sent back as they are shown, they mean what is stored.',
);
export type ProviderResponse = z.infer<typeof ProviderResponse>;
export const ListBodyProviderResponse = contract(
  'ListBodyProviderResponse',
  z.strictObject({
    items: z.array(ProviderResponse),
    total: int64,
    next_cursor: z.string().optional(),
    partial: z.boolean().optional(),
    partial_errors: strings.optional(),
  }),
  'A page of providers.',
);
export type ListBodyProviderResponse = z.infer<typeof ListBodyProviderResponse>;

export const OptionChoiceDTO = contract(
  'OptionChoiceDTO',
  z.strictObject({ value: z.string().describe('What is to be given.'), label: z.string() }),
  'A value that may be chosen.',
);
export const ProviderOptionDTO = contract(
  'ProviderOptionDTO',
  z.strictObject({
    key: z.string().describe('The key, to be given in `options`.'),
    label: z.string(),
    type: z.string().describe('Always `select`: one of the choices.'),
    default: z.string(),
    choices: z.array(OptionChoiceDTO),
  }),
  'An option of a provider.',
);
export const ProviderPublicResponse = contract(
  'ProviderPublicResponse',
  z.strictObject({
    name: z.string(),
    builtin: z.boolean(),
    city_level: z.boolean(),
    display_name: z.string().optional(),
    options_schema: z.array(ProviderOptionDTO).optional().describe('The options that there are.'),
    effective_defaults: stringMap.optional().describe('What counts of the options when nobody chooses, by their keys.'),
  }),
  'What there is to choose, with everything inherited from bases. Nothing of how the provider is started.',
);
export type ProviderPublicResponse = z.infer<typeof ProviderPublicResponse>;
export const ProviderPublicListBody = contract(
  'ProviderPublicListBody',
  z.strictObject({ items: z.array(ProviderPublicResponse), total: int64, next_cursor: z.string().optional() }),
  'What there is to choose of every provider.',
);
export type ProviderPublicListBody = z.infer<typeof ProviderPublicListBody>;

const MAX_LIST = 500;
const NAME_MAX = 64;
const line = text.max(8_192);
const lines = z.array(line).max(MAX_LIST);
const lineMap = boundedMap(z.record(z.string(), line), MAX_LIST, `must have at most ${MAX_LIST} entries`)
  .refine((map) => Object.keys(map).every((key) => text.max(256).safeParse(key).success), 'has a key that cannot be stored')
  .refine((map) => !Object.hasOwn(map, '__proto__'), 'has a key that cannot be stored');

const fields = {
  display_name: line.optional(),
  base: line.optional(),
  command: line.optional(),
  args: lines.nullable().optional(),
  args_append: lines.nullable().optional(),
  acp_command: line.optional(),
  acp_args: lines.nullable().optional(),
  prompt_mode: z.enum(['', 'arg', 'flag', 'none']).optional(),
  prompt_flag: line.optional(),
  ready_delay_ms: int64.min(0).max(3_600_000).optional(),
  env: lineMap.optional(),
  option_defaults: lineMap.optional(),
  options_schema_merge: z.enum(['', 'replace', 'by_key']).optional(),
  network: NetworkRule.optional(),
};

export const ProviderUpdateInputBody = contract(
  'ProviderUpdateInputBody',
  z.strictObject(fields),
  'What is to be another thing of a provider. Absent members stay as they are.',
);
export type ProviderUpdateInputBody = z.infer<typeof ProviderUpdateInputBody>;
export const ProviderCreateInputBody = contract(
  'ProviderCreateInputBody',
  z.strictObject({
    name: z
      .string()
      .min(1)
      .max(NAME_MAX)
      .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/)
      .describe('The name: letters, digits, `_` and `-`.'),
    ...fields,
  }),
  'A new provider.',
);
export type ProviderCreateInputBody = z.infer<typeof ProviderCreateInputBody>;
export const ProviderCreatedOutputBody = contract(
  'ProviderCreatedOutputBody',
  z.strictObject({ status: z.string().describe('Always `created`.'), provider: z.string(), warnings }),
  'The provider is defined.',
);
export type ProviderCreatedOutputBody = z.infer<typeof ProviderCreatedOutputBody>;

export const ProviderNameParam = z.string().min(1).max(256).describe('The name of the provider.');
