import { Argument, Option, type Command } from 'commander';
import { needed, option, repeated, type AddCommand } from './add-command.ts';
import { addChain } from './commands/add-chain.ts';

export function addChainAdd(chain: Command, add: AddCommand): void {
  const parts = [
    new Argument('<networks-file>'),
    needed('--chain <chain>', 'its name in the API, such as ACME_L2'),
    option('--chain-id <id>', 'answer of eth_chainId, as a number; not for presets'),
    option('--kind <kind>', 'main (real money) or test; not for presets'),
    option('--name <name>', 'for payers'),
    repeated('--rpc-url <url>', 'an endpoint; repeat it for a second provider'),
    repeated('--token <token>', 'symbol, decimals and contract: USDC:6:0x…; may be repeated'),
    needed('--native <symbol>', "the chain's own coin, such as ETH: fees are booked in it"),
    option('--native-decimals <number>', undefined, '18'),
    option('--block-time-ms <number>', undefined, '2000'),
    option('--confirmations <number>', 'a number of blocks, finalized, or safe', 'finalized'),
    option('--data-fee <kind>', 'op-stack for chains of the OP Stack'),
    option('--explorer <url>', 'of a transaction, with {txid}'),
    new Option('--no-bloom', "headers' blooms do not cover their own blocks"),
  ];
  add(chain, 'add', 'check an EVM chain at its endpoints and add it to the networks file', parts, addChain);
}
