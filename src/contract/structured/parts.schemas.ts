import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';

/** What inputs and results of tools are made of. */
export const Argument = contract(
  'SessionStructuredArgument',
  z.strictObject({
    name: z.string(),
    value: z.string(),
  }),
);

export const PlanStep = contract(
  'SessionStructuredPlanStep',
  z.strictObject({
    status: z.string().optional(),
    step: z.string().optional(),
  }),
);

export const TodoItem = contract(
  'SessionStructuredTodoItem',
  z.strictObject({
    active_form: z.string().optional(),
    content: z.string().optional(),
    id: z.string().optional(),
    priority: z.string().optional(),
    status: z.string().optional(),
  }),
);

export const ToolError = contract(
  'SessionStructuredToolError',
  z.strictObject({
    category: z.enum([
      'user_rejection',
      'user_rejection_with_reason',
      'command_failure',
      'file_error',
      'validation_error',
      'timeout',
      'network_error',
      'unknown',
    ]),
    message: z.string().optional(),
    user_reason: z.string().optional(),
  }),
);

export const PatchHunk = contract(
  'SessionStructuredPatchHunk',
  z.strictObject({
    file_path: z.string().optional(),
    lines: z.array(z.string()).nullable().optional(),
    new_lines: int64.optional(),
    new_start: int64.optional(),
    old_lines: int64.optional(),
    old_start: int64.optional(),
  }),
);

export const QuestionOption = contract(
  'SessionStructuredQuestionOption',
  z.strictObject({
    description: z.string().optional(),
    label: z.string().optional(),
  }),
);

export const Question = contract(
  'SessionStructuredQuestion',
  z.strictObject({
    header: z.string().optional(),
    multi_select: z.boolean().optional(),
    options: z.array(QuestionOption).nullable().optional(),
    question: z.string().optional(),
  }),
);

export const SearchResultItem = contract(
  'SessionStructuredSearchResultItem',
  z.strictObject({
    snippet: z.string().optional(),
    title: z.string().optional(),
    url: z.string().optional(),
  }),
);
