export const COMMON_OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  seed: { type: 'string' },
  state: { type: 'string' },
  help: { type: 'boolean' },
} as const;

export type CommonValues = Readonly<
  Partial<Record<Exclude<keyof typeof COMMON_OPTIONS, 'help'>, string | undefined>>
>;

/** Omits options that were not given. Throws an Error for the person who typed them. */
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

export function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} must be a whole number, not ${text}`);
  return Number(text);
}
