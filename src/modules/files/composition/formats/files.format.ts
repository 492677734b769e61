import { z } from 'zod';
import type { Format } from './format.js';
import { filled, flag, table, text, texts } from './values.js';

/** A variable of a formula: its default as text, or a table about it. */
const variable = z.custom(
  (value) => typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value)),
  'must be a text or a table',
);

/** The head of `formulas/<name>.toml`; what its steps mean is not a question of configuration. */
export const FORMULA_FORMAT: Format = {
  schema: z.looseObject({
    formula: filled,
    description: text.optional(),
    requires: table({ formula_compiler: filled }).optional(),
    vars: z.record(z.string(), variable).optional(),
    steps: z.array(z.looseObject({})).optional(),
  }),
  unknown: 'error',
};

/** `commands/<word>/…/command.toml`. */
export const COMMAND_FORMAT: Format = { schema: table({ command: texts, description: text, run: text }), unknown: 'warning' };

/** `doctor/<name>/doctor.toml`. */
export const DOCTOR_FORMAT: Format = { schema: table({ description: text, run: text, fix: text, warmup: flag }), unknown: 'warning' };
