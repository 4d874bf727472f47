import { Option, type Argument, type Command } from 'commander';
import type { CliContext } from './context.ts';

/** Adds a command: its name with its arguments, what it does, its options, and what runs with arguments and options. */
export type AddCommand = (
  parent: Command,
  name: string,
  description: string,
  parts: readonly (Option | Argument)[],
  run: (context: CliContext, ...typed: never[]) => Promise<void>,
) => Command;

/** Adds commands that run in `context`. */
export function createAddCommand(context: CliContext): AddCommand {
  return (parent, name, description, parts, run) => {
    const command = parent.command(name).description(description);
    for (const part of parts)
      if (part instanceof Option) command.addOption(part);
      else command.addArgument(part);
    // Commander gives the command itself last.
    return command.action((...typed: unknown[]) => run(context, ...(typed.slice(0, -1) as never[])));
  };
}

export function option(flags: string, description?: string, value?: string): Option {
  return new Option(flags, description).default(value);
}

/** An option that must be given. */
export function needed(flags: string, description?: string): Option {
  return new Option(flags, description).makeOptionMandatory();
}

export const REASON = needed('--reason <text>', 'why; kept in the audit log');
export const CHAIN = option('--chain <chain>', 'of this chain alone');
export const ALL = option('--all', 'those that have ended, too');
export const PASSPHRASE_FILE = option(
  '--passphrase-file <file>',
  'file with the passphrase (otherwise asked for)',
);

/** Options that may be given, as typed. */
export type Typed<N extends string> = { readonly [K in N]?: string };

/** The option of a command that acts in an operator's name. */
export interface Reason {
  readonly reason: string;
}
