import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { changeServerUrl, findServerUrlProblem, urlPerHost } from '@opentill/contracts/server-url';
import { GatewayError } from '@opentill/domain/gateway-error';

export type ConfigErrorCode =
  /** `context.problems` lists every mistake. */
  'CONFIG_INVALID';

export type Environment = Readonly<Record<string, string | undefined>>;

/** JSON Schema of one variable, with any ajv keyword. */
export interface VariableSchema {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'array';
  readonly default?: unknown;
  readonly [keyword: string]: unknown;
}
export interface ConfigSchema {
  readonly properties: Readonly<Record<string, VariableSchema>>;
  readonly required?: readonly string[];
}

/** A test checks schema validity. Checking it at start-up would take longer than the rest of start-up. */
const AJV_OPTIONS = {
  allErrors: true,
  useDefaults: true,
  strict: true,
  strictRequired: false,
  validateSchema: false,
} as const;

/**
 * Converts integers, booleans (true, false, 1, 0) and comma-separated lists. An empty variable counts as absent. A text
 * variable X may come from the file that X_FILE names, without its last line break. X_PASSWORD or X_PASSWORD_FILE is
 * the password of X_URL. Errors contain no value, since it may be a secret.
 * @throws GatewayError CONFIG_INVALID, with every mistake
 */
export function readConfig<T>(schema: ConfigSchema, env: Environment): T {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const unreadable = new Set<string>();
  for (const [name, variable] of Object.entries(schema.properties)) {
    try {
      const text = readValue(name, variable, schema, env);
      if (text !== undefined) values[name] = coerce(text, variable);
    } catch (error) {
      unreadable.add(name);
      problems.push(`${name} ${(error as Error).message}`);
    }
  }
  const ajv = new Ajv2020(AJV_OPTIONS);
  ajvFormats.default(ajv);
  const validate = ajv.compile({ type: 'object', ...schema });
  if (!validate(values)) {
    for (const error of validate.errors ?? []) {
      const problem = describe(error);
      if (!unreadable.has(problem.split(' ', 1)[0] ?? '')) problems.push(problem);
    }
  }
  if (problems.length > 0) throw invalidConfig(problems);
  return values as T;
}

/** For problems that no schema can name. */
export function invalidConfig(problems: readonly string[]): GatewayError<ConfigErrorCode> {
  return new GatewayError('CONFIG_INVALID', `configuration: ${problems.join('; ')}`, {
    retryable: false,
    context: { problems },
  });
}

function readValue(
  name: string,
  variable: VariableSchema,
  schema: ConfigSchema,
  env: Environment,
): string | undefined {
  const text = readText(name, variable, schema, env);
  const problem = text === undefined ? undefined : findServerUrlProblem(text);
  if (problem !== undefined) throw new Error(problem);
  const passwordVariable = name.replace(/_URL$/, '_PASSWORD');
  if (passwordVariable === name || passwordVariable in schema.properties || text === undefined) return text;
  let password: string | undefined;
  try {
    password = readText(passwordVariable, { type: 'string' }, schema, env);
  } catch (error) {
    throw new Error(`has a password variable ${passwordVariable} that ${(error as Error).message}`, {
      cause: error,
    });
  }
  return password === undefined ? text : withPassword(text, password, passwordVariable);
}

function withPassword(text: string, password: string, passwordVariable: string): string {
  if (!urlPerHost(text).every((url) => URL.canParse(url))) return text; // the schema rejects it
  return changeServerUrl(text, (url) => {
    if (url.password !== '')
      throw new Error(`contains a password and ${passwordVariable} sets another: remove one of them`);
    if (url.username === '') throw new Error(`needs a user name for the password in ${passwordVariable}`);
    url.password = encodeURIComponent(password);
  });
}

function readText(
  name: string,
  variable: VariableSchema,
  schema: ConfigSchema,
  env: Environment,
): string | undefined {
  const direct = env[name] === '' ? undefined : env[name];
  const fileVariable = `${name}_FILE`;
  const path =
    variable.type === 'string' && !(fileVariable in schema.properties) ? env[fileVariable] : undefined;
  if (path === undefined || path === '') return direct;
  if (direct !== undefined) throw new Error(`is set directly and by ${fileVariable}: remove one of them`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Error(
      `cannot be read from the file in ${fileVariable} (${(error as NodeJS.ErrnoException).code})`,
      {
        cause: error,
      },
    );
  }
  if (text === '') throw new Error(`is empty: the file in ${fileVariable} has no content`);
  return text;
}

/** Text of another type stays text, and the schema rejects it. */
function coerce(text: string, variable: Readonly<Record<string, unknown>>): unknown {
  switch (variable['type']) {
    case 'integer':
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
    case 'boolean':
      return { true: true, '1': true, false: false, '0': false }[text.trim().toLowerCase()] ?? text;
    case 'array': {
      const items = (variable['items'] ?? {}) as Readonly<Record<string, unknown>>;
      return text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
        .map((item) => coerce(item, items));
    }
    default:
      return text;
  }
}

/** Never contains the value. */
function describe(error: ErrorObject): string {
  if (error.keyword === 'required') return `${String(error.params['missingProperty'])} is missing`;
  const [name = '', ...rest] = error.instancePath.slice(1).split('/');
  const item = rest.length === 0 ? '' : ` (item ${Number(rest[0]) + 1})`;
  const allowed =
    error.keyword === 'enum' ? `: ${(error.params['allowedValues'] as unknown[]).join(', ')}` : '';
  return `${name}${item} ${error.message ?? 'is invalid'}${allowed}`;
}
