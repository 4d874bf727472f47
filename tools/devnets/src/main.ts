#!/usr/bin/env node
// `opentill devnet <kind>` runs a local chain until it is stopped. Imports only the requested kind.
const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function run(args: readonly string[]): Promise<{ close(): Promise<void> } | string> {
  const [kind, ...rest] = args;
  if (kind === 'sui') {
    const { readSuiDevnetArguments, runSuiDevnet } = await import('./sui/run-sui-devnet.ts');
    const options = readSuiDevnetArguments(rest);
    return typeof options === 'string' ? options : runSuiDevnet(options, print);
  }
  const { readDevnetArguments, runTronDevnet } = await import('./tron/run-tron-devnet.ts');
  const options = readDevnetArguments(args);
  return typeof options === 'string' ? options : runTronDevnet(options, print);
}

process.stdout.on('error', () => {}); // the reader closed the pipe
const devnet = await run(process.argv.slice(2));
if (typeof devnet === 'string') {
  process.stderr.write(`${devnet}\n`);
  process.exitCode = process.argv.includes('--help') ? 0 : 1;
} else {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void devnet.close());
}
