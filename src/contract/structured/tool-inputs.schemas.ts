import { z } from 'zod';
import { contract } from '../registry.js';
import { Argument, PlanStep, TodoItem } from './parts.schemas.js';

/** What a tool was called with, by what it does. */
export const ToolInputUnknown = contract(
  'SessionStructuredToolInputUnknown',
  z.strictObject({
    kind: z.literal('unknown'),
    arguments: z.array(Argument).nullable().optional(),
    code: z.string().optional(),
    command: z.string().optional(),
    description: z.string().optional(),
    explanation: z.string().optional(),
    file_path: z.string().optional(),
    language: z.string().optional(),
    linked_command: z.string().optional(),
    options: z.array(z.string()).nullable().optional(),
    patch: z.string().optional(),
    pattern: z.string().optional(),
    plan: z.string().optional(),
    prompt: z.string().optional(),
    query: z.string().optional(),
    question: z.string().optional(),
    steps: z.array(PlanStep).nullable().optional(),
    task_id: z.string().optional(),
    task_status: z.string().optional(),
    task_type: z.string().optional(),
    text: z.string().optional(),
    todos: z.array(TodoItem).nullable().optional(),
    url: z.string().optional(),
  }),
  'What a tool was called with that this release does not know.',
);

export const ToolInputCommand = contract(
  'SessionStructuredToolInputCommand',
  z.strictObject({
    kind: z.literal('command'),
    command: z.string(),
    arguments: z.array(Argument).nullable().optional(),
  }),
  'A command to be run.',
);

export const ToolInputStdin = contract(
  'SessionStructuredToolInputStdin',
  z.strictObject({
    kind: z.literal('stdin'),
    linked_command: z.string().optional(),
    task_id: z.string().optional(),
    text: z.string().optional(),
  }),
  'Words for a program that runs.',
);

export const ToolInputCode = contract(
  'SessionStructuredToolInputCode',
  z.strictObject({
    kind: z.literal('code'),
    code: z.string(),
    language: z.string().optional(),
  }),
  'Code to be run.',
);

export const ToolInputPatch = contract(
  'SessionStructuredToolInputPatch',
  z.strictObject({
    kind: z.literal('patch'),
    patch: z.string(),
    file_path: z.string().optional(),
    language: z.string().optional(),
  }),
  'A change to files.',
);

export const ToolInputWrite = contract(
  'SessionStructuredToolInputWrite',
  z.strictObject({
    kind: z.literal('write'),
    file_path: z.string().optional(),
    language: z.string().optional(),
    text: z.string().optional(),
  }),
  'A file to be written.',
);

export const ToolInputGlob = contract(
  'SessionStructuredToolInputGlob',
  z.strictObject({
    kind: z.literal('glob'),
    arguments: z.array(Argument).nullable().optional(),
    file_path: z.string().optional(),
    pattern: z.string().optional(),
    query: z.string().optional(),
  }),
  'Files to be found by their names.',
);

export const ToolInputFetch = contract(
  'SessionStructuredToolInputFetch',
  z.strictObject({
    kind: z.literal('fetch'),
    prompt: z.string().optional(),
    url: z.string().optional(),
  }),
  'A page to be fetched.',
);

export const ToolInputSearch = contract(
  'SessionStructuredToolInputSearch',
  z.strictObject({
    kind: z.literal('search'),
    arguments: z.array(Argument).nullable().optional(),
    command: z.string().optional(),
    file_path: z.string().optional(),
    pattern: z.string().optional(),
    query: z.string().optional(),
  }),
  'Words to be found.',
);

export const ToolInputFile = contract(
  'SessionStructuredToolInputFile',
  z.strictObject({
    kind: z.literal('file'),
    file_path: z.string(),
    command: z.string().optional(),
    language: z.string().optional(),
  }),
  'A file to be read.',
);

export const ToolInputTodo = contract(
  'SessionStructuredToolInputTodo',
  z.strictObject({
    kind: z.literal('todo'),
    todos: z.array(TodoItem).nullable().optional(),
  }),
  'A list of what is to be done.',
);

export const ToolInputPlan = contract(
  'SessionStructuredToolInputPlan',
  z.strictObject({
    kind: z.literal('plan'),
    explanation: z.string().optional(),
    plan: z.string().optional(),
    steps: z.array(PlanStep).nullable().optional(),
  }),
  'A plan.',
);

export const ToolInputQuestion = contract(
  'SessionStructuredToolInputQuestion',
  z.strictObject({
    kind: z.literal('question'),
    options: z.array(z.string()).nullable().optional(),
    question: z.string().optional(),
  }),
  'A question to a person.',
);

export const ToolInputTask = contract(
  'SessionStructuredToolInputTask',
  z.strictObject({
    kind: z.literal('task'),
    description: z.string().optional(),
    prompt: z.string().optional(),
    task_id: z.string().optional(),
    task_status: z.string().optional(),
    task_type: z.string().optional(),
  }),
  'A task for another agent.',
);

export const ToolInputText = contract(
  'SessionStructuredToolInputText',
  z.strictObject({
    kind: z.literal('text'),
    text: z.string(),
  }),
  'Words.',
);

export const ToolInputArguments = contract(
  'SessionStructuredToolInputArguments',
  z.strictObject({
    kind: z.literal('arguments'),
    arguments: z.array(Argument),
  }),
  'Arguments by name.',
);

export const ToolInput = contract(
  'SessionStructuredToolInput',
  z.discriminatedUnion('kind', [
    ToolInputUnknown,
    ToolInputCommand,
    ToolInputStdin,
    ToolInputCode,
    ToolInputPatch,
    ToolInputWrite,
    ToolInputGlob,
    ToolInputFetch,
    ToolInputSearch,
    ToolInputFile,
    ToolInputTodo,
    ToolInputPlan,
    ToolInputQuestion,
    ToolInputTask,
    ToolInputText,
    ToolInputArguments,
  ]),
  'What a tool was called with; `kind` says of which kind.',
);
