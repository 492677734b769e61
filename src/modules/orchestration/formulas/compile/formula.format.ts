import { z } from 'zod';
import type { Format } from '../../../files/composition/formats/format.js';
import { forbidden, former, key, oneOf, table } from '../../../files/composition/formats/values.js';
import { LIMITS } from './limits.js';

const text = z.string();
const flag = z.boolean();
const texts = z.array(z.string());
const ids = z.array(z.string().min(1));
const values = z.record(z.string(), z.string());

const gate = table({
  type: key(text, 'What opens it: `timer`, `human`, `mail` or `run`.'),
  id: key(
    text,
    'What is waited for: the name that people see, an address of mail, or the id of a run, which fails it when it is not there; none with a timer.',
  ),
  timeout: key(text, 'How long a timer takes; of the others, after how long they fail.'),
});
const check = table({
  max_attempts: key(z.int(), 'So many rounds at the most.'),
  check: key(
    table({
      mode: key(text, '`exec`, the one that there is.'),
      path: key(text, 'Script whose exit 0 passes the round.'),
      timeout: key(text, 'How long the script may take. Without it that of the step, else `5m`.'),
    }),
    'The script.',
  ),
});
const drain = table({
  formula: key(text, 'Formula that is done for each open member of the convoy.'),
  context: key(
    oneOf('separate', 'shared'),
    '`separate`: all units at once. `shared`: one after the other, by whoever has the first.',
    'separate',
  ),
  member_access: key(
    oneOf('read', 'exclusive'),
    '`exclusive`: members are parked, and closed when their unit passes. `read`: they stay as they are.',
    'read',
  ),
  max_units: key(z.int().min(1).max(100), 'More members than this fail the step.', 100),
  on_item_failure: key(
    oneOf('continue', 'skip_remaining'),
    'What becomes of the units after one that failed: `continue`, or with `shared` `skip_remaining`.',
  ),
  continuation_group: key(text, 'Name of what belongs together with `shared`.'),
  item: key(
    table({ single_lane: key(flag, 'Says that its steps come one after the other.', false) }),
    'What `shared` has to know of the item formula.',
  ),
});

type Steps = z.ZodOptional<z.ZodArray<z.ZodType>>;

const loop = z.strictObject({
  count: z.optional(key(z.int('must be a whole number; a number that is worked out goes into range'), 'So many rounds.')),
  range: z.optional(key(text, 'Rounds from one number to another, such as `1..{shards}`, with variables and arithmetic.')),
  var: z.optional(key(z.string().regex(/^[A-Za-z_]\w*$/, 'must be a name'), 'Name of the number of the round in the texts of `body`.')),
  until: z.optional(key(text, "Condition that ends the rounds, such as `step.status == 'completed'`; for the second compiler.")),
  max: z.optional(key(z.int(), 'So many rounds at the most, with `until`.')),
  get body(): Steps {
    return z.optional(key(z.array(step), 'Steps of a round.'));
  },
});

const step = z.strictObject({
  ...table({
    id: key(text, 'What other steps call it.'),
    title: key(text, 'Title of its bead; `{{name}}` is a variable.'),
    description: key(text, 'What is to be done.'),
    description_file: key(text, 'File beside the formula with the description.'),
    notes: key(text, 'Notes of its bead.'),
    type: key(text, 'Type of its bead.', 'task'),
    priority: key(z.int().min(0).max(4), '0 (first) to 4.'),
    tags: key(texts, 'Labels of its bead.'),
    metadata: key(values, 'Metadata of its bead.'),
    depends_on: key(ids, 'Steps that come before it.'),
    needs: key(ids, 'The same.'),
    waits_for: key(text, 'Step whose children have to be done as well: `all-children`, or `children-of(STEP)`.'),
    assignee: key(text, 'Who has it from the beginning.'),
    expand: key(text, 'Expansion that stands in its place.'),
    expand_vars: key(values, 'Values for that expansion.'),
    condition: key(text, 'Whether the step is there: `{{v}}`, `!{{v}}`, `{{v}} == value` or `{{v}} != value`.'),
    gate: key(gate, 'What has to happen before it.'),
    loop: key(loop, 'Rounds of steps in its place.'),
    check: key(check, 'A script that says whether it is done; otherwise it is done again.'),
    ralph: former(check, 'check'),
    retry: key(
      table({
        max_attempts: key(z.int(), 'So many attempts at the most.'),
        on_exhausted: key(oneOf('hard_fail', 'soft_fail'), 'Whether the run fails with the last one.', 'hard_fail'),
      }),
      'The step is done again when an attempt says no outcome, or fails with a `gc.failure_class` other than `hard`. One that fails without it has failed for good.',
    ),
    on_complete: key(
      table({
        for_each: key(text, 'List in the output of the step, such as `output.files`.'),
        bond: key(text, 'Formula that is done for each item.'),
        vars: key(values, 'Its values; `{item}` is the item, `{item.path}` a member of it.'),
        parallel: key(flag, 'All at once, as without it.', true),
        sequential: key(flag, 'One after the other.', false),
      }),
      'What comes when the step is done.',
    ),
    drain: key(drain, 'A formula for each open member of a convoy.'),
    timeout: key(text, 'How long a round may take, from when its first step is begun.'),
    tally: forbidden('was removed; aggregate votes in a step of your own'),
  }).shape,
  get children(): Steps {
    return z.optional(key(z.array(step), 'Steps below it.'));
  },
});

const advised = table({
  id: key(text, 'What it is called; `{step.id}` is the step that it belongs to.'),
  title: key(text, 'Title of its bead.'),
  description: key(text, 'What is to be done.'),
  type: key(text, 'Type of its bead.'),
  args: forbidden('has no effect: nothing passes arguments to a step'),
  output: forbidden('has no effect: nothing checks the output of a step'),
});

const variable = z.union(
  [
    z.string(),
    table({
      description: key(text, 'What it is for.'),
      default: key(text, 'Its value when none is given.'),
      required: key(flag, 'Whether one has to be given.', false),
      enum: key(texts, 'The values that will do.'),
      pattern: key(text, 'Regular expression that a value has to match.'),
      type: key(oneOf('string', 'int', 'bool'), 'What a value has to be.', 'string'),
    }),
  ],
  'must be a text, its default, or a table with description, default, required, enum, pattern and type, all texts but required and enum',
);

const compose = table({
  expand: key(
    z.array(table({ target: key(text, 'The step.'), with: key(text, 'The expansion.'), vars: key(values, 'Its values.') })),
    'Expansions in place of steps.',
  ),
  map: key(
    z.array(
      table({
        select: key(text, 'Steps whose ids match, such as `test-*`.'),
        with: key(text, 'The expansion.'),
        vars: key(values, 'Its values.'),
      }),
    ),
    'One expansion in place of many steps.',
  ),
  branch: key(
    z.array(
      table({ from: key(text, 'The step before them.'), steps: key(ids, 'Steps side by side.'), join: key(text, 'The step after them.') }),
    ),
    'Steps that are done at the same time.',
  ),
  gate: key(
    z.array(table({ before: key(text, 'The step.'), condition: key(text, 'Condition of the run that has to hold before it.') })),
    'What has to hold before a step.',
  ),
  aspects: key(ids, 'Aspects whose advice holds here.'),
  bond_points: key(
    z.array(
      table({
        id: key(text, 'What it is called.'),
        description: key(text, 'What it is for.'),
        after_step: key(text, 'The step before it.'),
        before_step: key(text, 'The step after it.'),
        parallel: key(flag, 'Whether what is put there stands beside each other.', false),
      }),
    ),
    'Places where others may put steps.',
  ),
  hooks: forbidden('has no effect: nothing starts formulas by labels; name the expansion in expand or map'),
});

/** `formulas/<name>.toml`, every key of it. What no other key stands for is refused, so that nothing in a formula is without effect. */
export const WHOLE_FORMULA: Format = {
  schema: table({
    formula: key(text, 'Its name; the file is called like it.'),
    description: key(text, 'What it is for.'),
    type: key(
      z.enum(['workflow', 'expansion', 'aspect']),
      '`workflow`: it is run. `expansion`: it stands in place of steps. `aspect`: it gives advice.',
      'workflow',
    ),
    requires: key(table({ formula_compiler: key(text, 'Compilers that will do: `>=2.0.0` makes it a graph.') }), 'What it needs.'),
    contract: key(text, '`graph.v2`: the same as asking for the second compiler.'),
    extends: key(ids, 'Formulas whose variables and steps it has as well.'),
    vars: key(z.record(z.string().max(LIMITS.id), variable), 'Its variables: a text is a default.'),
    steps: key(z.array(step), 'What is to be done.'),
    template: key(z.array(step), 'Steps of an expansion, with `{target}` for the step in whose place they stand.'),
    compose: key(compose, 'What is made of its steps.'),
    advice: key(
      z.array(
        table({
          target: key(text, 'Steps whose ids match.'),
          before: key(advised, 'A step before each of them.'),
          after: key(advised, 'A step after each of them.'),
          around: key(
            table({ before: key(z.array(advised), 'Steps before them.'), after: key(z.array(advised), 'Steps after them.') }),
            'Steps on both sides.',
          ),
        }),
      ),
      'Steps that an aspect puts before and after others.',
    ),
    pointcuts: forbidden('has no effect: advice names its targets itself'),
    phase: key(oneOf('liquid', 'vapor'), '`vapor`: the run is one bead, and its steps are read in the recipe alone.'),
    pour: key(flag, 'With `vapor`: the steps become beads all the same.', false),
    catalog: key(table({ name: key(text, 'Its title.'), description: key(text, 'What it is for.') }), 'How lists show it.'),
    metadata: key(z.record(z.string(), z.unknown()), 'What else is to be known of it.'),
  }),
  unknown: 'error',
};
