import { parseArgs } from 'node:util';
import { COMMON_OPTIONS, commonOptionsOf, wholeNumber } from '../devnet-arguments.ts';
import { startSuiDevnet, type SuiDevnet, type SuiDevnetOptions } from './start-sui-devnet.ts';

const USAGE = `Usage: opentill devnet sui [options]

A SUI node with a chain of its own, for SuiGrpcClient and for anything that speaks the full node's gRPC API.

  --port <port>            default 9180
  --host <address>         default 127.0.0.1; the accounts' keys are public
  --checkpoint-ms <ms>     default 250; 0: a checkpoint only by POST /devnet/checkpoint
  --consensus-ms <ms>      how long a transaction waits for its execution; default 100
  --state <file>           goes on with the chain in this file, and writes it when stopped
  --seed <text>            names accounts, tokens and the chain; the same seed gives the same
`;

const DEFAULT_PORT = 9180;
const DEFAULT_CHECKPOINT_MS = 250;
/** Similar to a validator's delay, so that conflicts between transactions can be observed. */
const DEFAULT_CONSENSUS_MS = 100;

/** Returns a text to print if the arguments are invalid or ask for help. */
export function readSuiDevnetArguments(args: readonly string[]): SuiDevnetOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...COMMON_OPTIONS,
        'checkpoint-ms': { type: 'string' },
        'consensus-ms': { type: 'string' },
      },
    });
    if (values.help === true) return USAGE;
    return {
      ...commonOptionsOf(values, DEFAULT_PORT),
      checkpointMs: wholeNumber('--checkpoint-ms', values['checkpoint-ms']) ?? DEFAULT_CHECKPOINT_MS,
      consensusMs: wholeNumber('--consensus-ms', values['consensus-ms']) ?? DEFAULT_CONSENSUS_MS,
    };
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`;
  }
}

export async function runSuiDevnet(
  options: SuiDevnetOptions,
  print: (line: string) => void,
): Promise<SuiDevnet> {
  const devnet = await startSuiDevnet(options);
  print(`SUI devnet    ${devnet.url}   (gRPC-web and gRPC, devnet/, v2/gas)`);
  print(`chain id      ${devnet.chainId}`);
  for (const [symbol, coinType] of Object.entries(devnet.tokens)) print(`${symbol}          ${coinType}`);
  print('accounts, each with 10 million SUI and a billion of each token (their keys are public):');
  for (const { address, secretKey } of devnet.accounts) print(`  ${address}  ${secretKey}`);
  print('send tokens to an address:');
  print(
    `  curl -s ${devnet.url}/devnet/fund -d '{"address":"0x…","mist":"1000000000","symbol":"USDC","amountBaseUnits":"5000000"}'`,
  );
  return devnet;
}
