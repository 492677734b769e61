import { z } from 'zod';
import type { Format } from '../../../files/composition/formats/format.js';
import { forbidden, oneOf, table } from '../../../files/composition/formats/values.js';
import { LIMITS } from './limits.js';

const text = z.string();
const flag = z.boolean();
const texts = z.array(z.string());
const ids = z.array(z.string().min(1));
const values = z.record(z.string(), z.string());

const gate = table({ type: text, id: text, timeout: text });
const check = table({ max_attempts: z.int(), check: table({ mode: text, path: text, timeout: text }) });
const drain = table({
  formula: text,
  context: oneOf('separate', 'shared'),
  member_access: oneOf('read', 'exclusive'),
  max_units: z.int().min(1).max(100),
  on_item_failure: oneOf('continue', 'skip_remaining'),
  continuation_group: text,
  item: table({ single_lane: flag }),
});

type Steps = z.ZodOptional<z.ZodArray<z.ZodType>>;

const loop = z.strictObject({
  count: z.optional(z.int('must be a whole number; a number that is worked out goes into range')),
  range: z.optional(text),
  var: z.optional(z.string().regex(/^[A-Za-z_]\w*$/, 'must be a name')),
  until: z.optional(text),
  max: z.optional(z.int()),
  get body(): Steps {
    return z.optional(z.array(step));
  },
});

const step = z.strictObject({
  ...table({
    id: text,
    title: text,
    description: text,
    description_file: text,
    notes: text,
    type: text,
    priority: z.int().min(0).max(4),
    tags: texts,
    metadata: values,
    depends_on: ids,
    needs: ids,
    waits_for: text,
    assignee: text,
    expand: text,
    expand_vars: values,
    condition: text,
    gate,
    loop,
    check,
    ralph: check,
    retry: table({ max_attempts: z.int(), on_exhausted: oneOf('hard_fail', 'soft_fail') }),
    on_complete: table({ for_each: text, bond: text, vars: values, parallel: flag, sequential: flag }),
    drain,
    timeout: text,
    tally: forbidden('was removed; aggregate votes in a step of your own'),
  }).shape,
  get children(): Steps {
    return z.optional(z.array(step));
  },
});

const advised = table({
  id: text,
  title: text,
  description: text,
  type: text,
  args: forbidden('has no effect: nothing passes arguments to a step'),
  output: forbidden('has no effect: nothing checks the output of a step'),
});

const variable = z.union(
  [
    z.string(),
    table({ description: text, default: text, required: flag, enum: texts, pattern: text, type: oneOf('string', 'int', 'bool') }),
  ],
  'must be a text, its default, or a table with description, default, required, enum, pattern and type, all texts but required and enum',
);

const compose = table({
  expand: z.array(table({ target: text, with: text, vars: values })),
  map: z.array(table({ select: text, with: text, vars: values })),
  branch: z.array(table({ from: text, steps: ids, join: text })),
  gate: z.array(table({ before: text, condition: text })),
  aspects: ids,
  bond_points: z.array(table({ id: text, description: text, after_step: text, before_step: text, parallel: flag })),
  hooks: forbidden('has no effect: nothing starts formulas by labels; name the expansion in expand or map'),
});

/** `formulas/<name>.toml`, every key of it. What no other key stands for is refused, so that nothing in a formula is without effect. */
export const WHOLE_FORMULA: Format = {
  schema: table({
    formula: text,
    description: text,
    type: z.enum(['workflow', 'expansion', 'aspect']),
    requires: table({ formula_compiler: text }),
    contract: text,
    extends: ids,
    vars: z.record(z.string().max(LIMITS.id), variable),
    steps: z.array(step),
    template: z.array(step),
    compose,
    advice: z.array(
      table({
        target: text,
        before: advised,
        after: advised,
        around: table({ before: z.array(advised), after: z.array(advised) }),
      }),
    ),
    pointcuts: forbidden('has no effect: advice names its targets itself'),
    phase: oneOf('liquid', 'vapor'),
    pour: flag,
    catalog: table({ name: text, description: text }),
    metadata: z.record(z.string(), z.unknown()),
  }),
  unknown: 'error',
};
