import { CommanderError } from 'commander';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { CliContext } from './context.ts';
import { oneLine, plainLine } from './print-table.ts';
import { createProgram } from './program.ts';

const OPERATOR_ERROR = 1;
const RETRYABLE_ERROR = 75;

/**
 * Runs one command. An error is one line.
 * @returns the exit code: 0, 1 when the operator has something to mend, 75 when the same command may succeed later
 * @throws what no module foresaw
 */
export async function runCli(args: readonly string[], given: CliContext): Promise<number> {
  const context: CliContext = {
    ...given,
    // Whatever a shop, a node or what is at OPS_URL has put into a line: it stays one, and moves nothing.
    print: (line) => given.print(plainLine(line)),
    printError: (line) => given.printError(oneLine(line)),
  };
  try {
    await createProgram(context).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // has said itself what is wrong
    if (!(error instanceof GatewayError) && !isSystemError(error)) throw error;
    context.printError(`opentill: ${describe(error)}`);
    return error instanceof GatewayError && error.retryable ? RETRYABLE_ERROR : OPERATOR_ERROR;
  }
}

/** A file that is missing, a directory that may not be entered: Node's own words name it. */
function isSystemError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'syscall' in error;
}

/** The message with those of its causes that say more. */
function describe(error: unknown): string {
  const parts: string[] = [];
  for (let cause = error as Partial<AggregateError> | undefined; cause; cause = cause.cause as typeof cause) {
    const several = cause.errors as readonly Partial<Error>[] | undefined;
    for (const { message = '' } of several ?? [cause]) {
      const line = message.replaceAll(/\s*\n\s*/g, ' ').trim();
      if (line !== '' && !parts.some((part) => part.includes(line))) parts.push(line);
    }
  }
  return parts.join(': ');
}
