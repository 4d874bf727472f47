import { Option, type Argument, type Command } from 'commander';
import type { CliContext } from './context.ts';

export type AddCommand = (
  parent: Command,
  name: string,
  description: string,
  parts: readonly (Option | Argument)[],
  run: (context: CliContext, ...typed: never[]) => Promise<void>,
) => Command;

export function createAddCommand(context: CliContext): AddCommand {
  return (parent, name, description, parts, run) => {
    const command = parent.command(name).description(description);
    for (const part of parts)
      if (part instanceof Option) command.addOption(part);
      else command.addArgument(part);
    // Commander passes the command itself as the last argument.
    return command.action((...typed: unknown[]) => run(context, ...(typed.slice(0, -1) as never[])));
  };
}

export function option(flags: string, description?: string, value?: string): Option {
  return new Option(flags, description).default(value);
}

/** May be given several times. */
export function repeated(flags: string, description?: string): Option {
  return new Option(flags, description)
    .argParser((text: string, before: readonly string[] | undefined) => [...(before ?? []), text])
    .makeOptionMandatory();
}

export function needed(flags: string, description?: string): Option {
  return new Option(flags, description).makeOptionMandatory();
}

export const REASON = needed('--reason <text>', 'why; kept in the audit log');
export const CHAIN = option('--chain <chain>', 'only this chain');
export const ALL = option('--all', 'include those that have ended');
export const PASSPHRASE_FILE = option(
  '--passphrase-file <file>',
  'file with the passphrase (otherwise asked for)',
);

export type Typed<N extends string> = { readonly [K in N]?: string };

export interface Reason {
  readonly reason: string;
}
