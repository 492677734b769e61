import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';

/** What inputs and results of tools are made of. */
export const Argument = contract(
  'SessionStructuredArgument',
  z.strictObject({
    name: z.string().describe('The name of the argument.'),
    value: z.string(),
  }),
  'An argument of a tool, as text.',
);

export const PlanStep = contract(
  'SessionStructuredPlanStep',
  z.strictObject({
    status: z.string().optional().describe('How far it is, in the words of the agent.'),
    step: z.string().optional(),
  }),
  'A step of a plan.',
);

export const TodoItem = contract(
  'SessionStructuredTodoItem',
  z.strictObject({
    active_form: z.string().optional().describe('The same as something that is being done.'),
    content: z.string().optional().describe('What is to be done.'),
    id: z.string().optional().describe('Its id, as the agent calls it.'),
    priority: z.string().optional().describe('How urgent it is, in the words of the agent.'),
    status: z.string().optional().describe('How far it is, in the words of the agent.'),
  }),
  'A line of a list of what is to be done.',
);

export const ToolError = contract(
  'SessionStructuredToolError',
  z.strictObject({
    category: z
      .enum([
        'user_rejection',
        'user_rejection_with_reason',
        'command_failure',
        'file_error',
        'validation_error',
        'timeout',
        'network_error',
        'unknown',
      ])
      .describe('What kind of fault it is.'),
    message: z.string().optional(),
    user_reason: z.string().optional().describe('What the person said who refused it.'),
  }),
  'Why a tool failed.',
);

export const PatchHunk = contract(
  'SessionStructuredPatchHunk',
  z.strictObject({
    file_path: z.string().optional(),
    lines: z.array(z.string()).nullable().optional().describe('The lines, each with its sign.'),
    new_lines: int64.optional().describe('How many lines there are after it.'),
    new_start: int64.optional().describe('The first line after it, from 1.'),
    old_lines: int64.optional().describe('How many lines there were before it.'),
    old_start: int64.optional().describe('The first line before it, from 1.'),
  }),
  'A part of a change to a file.',
);

export const QuestionOption = contract(
  'SessionStructuredQuestionOption',
  z.strictObject({
    description: z.string().optional(),
    label: z.string().optional(),
  }),
  'An answer that may be chosen.',
);

export const Question = contract(
  'SessionStructuredQuestion',
  z.strictObject({
    header: z.string().optional().describe('A word above the question.'),
    multi_select: z.boolean().optional().describe('Whether more than one may be chosen.'),
    options: z.array(QuestionOption).nullable().optional().describe('What may be chosen. Null is the same as anything.'),
    question: z.string().optional(),
  }),
  'A question with its answers.',
);

export const SearchResultItem = contract(
  'SessionStructuredSearchResultItem',
  z.strictObject({
    snippet: z.string().optional().describe('The words that were found.'),
    title: z.string().optional(),
    url: z.string().optional(),
  }),
  'Something that was found.',
);
