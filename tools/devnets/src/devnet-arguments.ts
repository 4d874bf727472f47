/** Options of every devnet's command, as parseArgs wants them. */
export const COMMON_OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  seed: { type: 'string' },
  state: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** What somebody wrote for them. */
export type CommonValues = Readonly<
  Partial<Record<Exclude<keyof typeof COMMON_OPTIONS, 'help'>, string | undefined>>
>;

/** The same as a devnet is started with; what was not said stays out. Throws an Error that says what to mend. */
export function commonOptionsOf(
  values: CommonValues,
  defaultPort: number,
): { readonly port: number; readonly host?: string; readonly stateFile?: string; readonly seed?: string } {
  return {
    port: wholeNumber('--port', values.port) ?? defaultPort,
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(values.state === undefined ? {} : { stateFile: values.state }),
    ...(values.seed === undefined ? {} : { seed: values.seed }),
  };
}

/** Undefined where nothing was said. Throws an Error that says what to mend. */
export function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} must be a whole number, not ${text}`);
  return Number(text);
}
