import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { Argument, PlanStep, TodoItem, ToolError, PatchHunk, Question, SearchResultItem } from './parts.schemas.js';

/** What a tool has answered, by what it does. */
export const ToolResultUnknown = contract(
  'SessionStructuredToolResultUnknown',
  z.strictObject({
    kind: z.literal('unknown'),
    answer: z.string().optional(),
    answers: z.array(Argument).nullable().optional(),
    applied_limit: int64.optional(),
    bytes: int64.optional(),
    code: z.string().optional(),
    command: z.string().optional(),
    content: z.string().optional(),
    counts: z.array(Argument).nullable().optional(),
    description: z.string().optional(),
    duration_ms: int64.optional(),
    error: ToolError.optional(),
    exit_code: int64.optional(),
    explanation: z.string().optional(),
    file_path: z.string().optional(),
    file_paths: z.array(z.string()).nullable().optional(),
    filenames: z.array(z.string()).nullable().optional(),
    interrupted: z.boolean().optional(),
    is_image: z.boolean().optional(),
    language: z.string().optional(),
    mode: z.string().optional(),
    new_string: z.string().optional(),
    new_todos: z.array(TodoItem).nullable().optional(),
    num_files: int64.optional(),
    num_lines: int64.optional(),
    num_results: int64.optional(),
    old_string: z.string().optional(),
    old_todos: z.array(TodoItem).nullable().optional(),
    options: z.array(z.string()).nullable().optional(),
    original_file: z.string().optional(),
    output: z.string().optional(),
    patch: z.string().optional(),
    patch_hunks: z.array(PatchHunk).nullable().optional(),
    plan: z.string().optional(),
    query: z.string().optional(),
    question: z.string().optional(),
    questions: z.array(Question).nullable().optional(),
    replace_all: z.boolean().optional(),
    result_items: z.array(SearchResultItem).nullable().optional(),
    start_line: int64.optional(),
    status_code: int64.optional(),
    status_text: z.string().optional(),
    stderr: z.string().optional(),
    stderr_lines: int64.optional(),
    stdout: z.string().optional(),
    stdout_lines: int64.optional(),
    steps: z.array(PlanStep).nullable().optional(),
    task_id: z.string().optional(),
    task_status: z.string().optional(),
    task_type: z.string().optional(),
    text: z.string().optional(),
    timestamp: z.string().optional(),
    total_duration_ms: int64.optional(),
    total_lines: int64.optional(),
    total_tokens: int64.optional(),
    total_tool_use_count: int64.optional(),
    truncated: z.boolean().optional(),
    url: z.string().optional(),
    user_modified: z.boolean().optional(),
  }),
  'What a tool has answered that this release does not know.',
);

export const ToolResultBash = contract(
  'SessionStructuredToolResultBash',
  z.strictObject({
    kind: z.literal('bash'),
    command: z.string().optional(),
    content: z.string().optional(),
    error: ToolError.optional(),
    exit_code: int64.optional(),
    interrupted: z.boolean().optional(),
    is_image: z.boolean().optional(),
    num_lines: int64.optional(),
    stderr: z.string().optional(),
    stderr_lines: int64.optional(),
    stdout: z.string().optional(),
    stdout_lines: int64.optional(),
    task_id: z.string().optional(),
    task_status: z.string().optional(),
    text: z.string().optional(),
    timestamp: z.string().optional(),
    truncated: z.boolean().optional(),
  }),
  'What a command has come to.',
);

export const ToolResultPython = contract(
  'SessionStructuredToolResultPython',
  z.strictObject({
    kind: z.literal('python'),
    code: z.string().optional(),
    error: ToolError.optional(),
    exit_code: int64.optional(),
    interrupted: z.boolean().optional(),
    is_image: z.boolean().optional(),
    stderr: z.string().optional(),
    stdout: z.string().optional(),
    text: z.string().optional(),
    truncated: z.boolean().optional(),
  }),
  'What code has come to.',
);

export const ToolResultRead = contract(
  'SessionStructuredToolResultRead',
  z.strictObject({
    kind: z.literal('read'),
    content: z.string().optional(),
    error: ToolError.optional(),
    file_path: z.string().optional(),
    language: z.string().optional(),
    num_lines: int64.optional(),
    start_line: int64.optional(),
    total_lines: int64.optional(),
  }),
  'A file that was read.',
);

export const ToolResultGlob = contract(
  'SessionStructuredToolResultGlob',
  z.strictObject({
    kind: z.literal('glob'),
    content: z.string().optional(),
    duration_ms: int64.optional(),
    error: ToolError.optional(),
    filenames: z.array(z.string()).nullable().optional(),
    num_files: int64.optional(),
    num_lines: int64.optional(),
    truncated: z.boolean().optional(),
  }),
  'Files that were found by their names.',
);

export const ToolResultGrep = contract(
  'SessionStructuredToolResultGrep',
  z.strictObject({
    kind: z.literal('grep'),
    applied_limit: int64.optional(),
    content: z.string().optional(),
    counts: z.array(Argument).nullable().optional(),
    duration_ms: int64.optional(),
    error: ToolError.optional(),
    filenames: z.array(z.string()).nullable().optional(),
    mode: z.string().optional(),
    num_files: int64.optional(),
    num_lines: int64.optional(),
    num_results: int64.optional(),
    query: z.string().optional(),
    result_items: z.array(SearchResultItem).nullable().optional(),
  }),
  'Lines that were found.',
);

export const ToolResultSearch = contract(
  'SessionStructuredToolResultSearch',
  z.strictObject({
    kind: z.literal('search'),
    applied_limit: int64.optional(),
    content: z.string().optional(),
    counts: z.array(Argument).nullable().optional(),
    duration_ms: int64.optional(),
    error: ToolError.optional(),
    filenames: z.array(z.string()).nullable().optional(),
    mode: z.string().optional(),
    num_files: int64.optional(),
    num_lines: int64.optional(),
    num_results: int64.optional(),
    query: z.string().optional(),
    result_items: z.array(SearchResultItem).nullable().optional(),
  }),
  'What was found.',
);

export const ToolResultFetch = contract(
  'SessionStructuredToolResultFetch',
  z.strictObject({
    kind: z.literal('fetch'),
    bytes: int64.optional(),
    content: z.string().optional(),
    duration_ms: int64.optional(),
    error: ToolError.optional(),
    num_lines: int64.optional(),
    status_code: int64.optional(),
    status_text: z.string().optional(),
    text: z.string().optional(),
    url: z.string().optional(),
  }),
  'A page that was fetched.',
);

export const ToolResultTodo = contract(
  'SessionStructuredToolResultTodo',
  z.strictObject({
    kind: z.literal('todo'),
    content: z.string().optional(),
    error: ToolError.optional(),
    new_todos: z.array(TodoItem).nullable().optional(),
    old_todos: z.array(TodoItem).nullable().optional(),
    text: z.string().optional(),
  }),
  'The list of what is to be done, before and after.',
);

export const ToolResultPlan = contract(
  'SessionStructuredToolResultPlan',
  z.strictObject({
    kind: z.literal('plan'),
    content: z.string().optional(),
    error: ToolError.optional(),
    explanation: z.string().optional(),
    plan: z.string().optional(),
    steps: z.array(PlanStep).nullable().optional(),
    text: z.string().optional(),
  }),
  'The plan that is followed.',
);

export const ToolResultQuestion = contract(
  'SessionStructuredToolResultQuestion',
  z.strictObject({
    kind: z.literal('question'),
    answer: z.string().optional(),
    answers: z.array(Argument).nullable().optional(),
    content: z.string().optional(),
    error: ToolError.optional(),
    options: z.array(z.string()).nullable().optional(),
    question: z.string().optional(),
    questions: z.array(Question).nullable().optional(),
    text: z.string().optional(),
  }),
  'What a person has answered.',
);

export const ToolResultStdin = contract(
  'SessionStructuredToolResultStdin',
  z.strictObject({
    kind: z.literal('stdin'),
    content: z.string().optional(),
    error: ToolError.optional(),
    num_lines: int64.optional(),
    task_id: z.string().optional(),
    text: z.string().optional(),
  }),
  'What a program has said to what it was told.',
);

export const ToolResultTask = contract(
  'SessionStructuredToolResultTask',
  z.strictObject({
    kind: z.literal('task'),
    content: z.string().optional(),
    description: z.string().optional(),
    error: ToolError.optional(),
    exit_code: int64.optional(),
    output: z.string().optional(),
    stderr: z.string().optional(),
    stdout: z.string().optional(),
    task_id: z.string().optional(),
    task_status: z.string().optional(),
    task_type: z.string().optional(),
    text: z.string().optional(),
    total_duration_ms: int64.optional(),
    total_tokens: int64.optional(),
    total_tool_use_count: int64.optional(),
  }),
  'What a task has come to.',
);

export const ToolResultWrite = contract(
  'SessionStructuredToolResultWrite',
  z.strictObject({
    kind: z.literal('write'),
    content: z.string().optional(),
    error: ToolError.optional(),
    file_path: z.string().optional(),
    file_paths: z.array(z.string()).nullable().optional(),
    language: z.string().optional(),
    num_lines: int64.optional(),
    patch: z.string().optional(),
    patch_hunks: z.array(PatchHunk).nullable().optional(),
    start_line: int64.optional(),
    text: z.string().optional(),
    total_lines: int64.optional(),
  }),
  'A file that was written.',
);

export const ToolResultEdit = contract(
  'SessionStructuredToolResultEdit',
  z.strictObject({
    kind: z.literal('edit'),
    content: z.string().optional(),
    error: ToolError.optional(),
    file_path: z.string().optional(),
    file_paths: z.array(z.string()).nullable().optional(),
    new_string: z.string().optional(),
    old_string: z.string().optional(),
    original_file: z.string().optional(),
    patch: z.string().optional(),
    patch_hunks: z.array(PatchHunk).nullable().optional(),
    replace_all: z.boolean().optional(),
    user_modified: z.boolean().optional(),
  }),
  'A file that was changed.',
);

export const ToolResultText = contract(
  'SessionStructuredToolResultText',
  z.strictObject({
    kind: z.literal('text'),
    content: z.string().optional(),
    error: ToolError.optional(),
    text: z.string().optional(),
  }),
  'Words.',
);

export const ToolResult = contract(
  'SessionStructuredToolResult',
  z.discriminatedUnion('kind', [
    ToolResultUnknown,
    ToolResultBash,
    ToolResultPython,
    ToolResultRead,
    ToolResultGlob,
    ToolResultGrep,
    ToolResultSearch,
    ToolResultFetch,
    ToolResultTodo,
    ToolResultPlan,
    ToolResultQuestion,
    ToolResultStdin,
    ToolResultTask,
    ToolResultWrite,
    ToolResultEdit,
    ToolResultText,
  ]),
  'What a tool has answered; `kind` says of which kind.',
);
