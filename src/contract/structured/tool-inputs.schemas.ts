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
);

export const ToolInputCommand = contract(
  'SessionStructuredToolInputCommand',
  z.strictObject({
    kind: z.literal('command'),
    command: z.string(),
    arguments: z.array(Argument).nullable().optional(),
  }),
);

export const ToolInputStdin = contract(
  'SessionStructuredToolInputStdin',
  z.strictObject({
    kind: z.literal('stdin'),
    linked_command: z.string().optional(),
    task_id: z.string().optional(),
    text: z.string().optional(),
  }),
);

export const ToolInputCode = contract(
  'SessionStructuredToolInputCode',
  z.strictObject({
    kind: z.literal('code'),
    code: z.string(),
    language: z.string().optional(),
  }),
);

export const ToolInputPatch = contract(
  'SessionStructuredToolInputPatch',
  z.strictObject({
    kind: z.literal('patch'),
    patch: z.string(),
    file_path: z.string().optional(),
    language: z.string().optional(),
  }),
);

export const ToolInputWrite = contract(
  'SessionStructuredToolInputWrite',
  z.strictObject({
    kind: z.literal('write'),
    file_path: z.string().optional(),
    language: z.string().optional(),
    text: z.string().optional(),
  }),
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
);

export const ToolInputFetch = contract(
  'SessionStructuredToolInputFetch',
  z.strictObject({
    kind: z.literal('fetch'),
    prompt: z.string().optional(),
    url: z.string().optional(),
  }),
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
);

export const ToolInputFile = contract(
  'SessionStructuredToolInputFile',
  z.strictObject({
    kind: z.literal('file'),
    file_path: z.string(),
    command: z.string().optional(),
    language: z.string().optional(),
  }),
);

export const ToolInputTodo = contract(
  'SessionStructuredToolInputTodo',
  z.strictObject({
    kind: z.literal('todo'),
    todos: z.array(TodoItem).nullable().optional(),
  }),
);

export const ToolInputPlan = contract(
  'SessionStructuredToolInputPlan',
  z.strictObject({
    kind: z.literal('plan'),
    explanation: z.string().optional(),
    plan: z.string().optional(),
    steps: z.array(PlanStep).nullable().optional(),
  }),
);

export const ToolInputQuestion = contract(
  'SessionStructuredToolInputQuestion',
  z.strictObject({
    kind: z.literal('question'),
    options: z.array(z.string()).nullable().optional(),
    question: z.string().optional(),
  }),
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
);

export const ToolInputText = contract(
  'SessionStructuredToolInputText',
  z.strictObject({
    kind: z.literal('text'),
    text: z.string(),
  }),
);

export const ToolInputArguments = contract(
  'SessionStructuredToolInputArguments',
  z.strictObject({
    kind: z.literal('arguments'),
    arguments: z.array(Argument),
  }),
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
);
