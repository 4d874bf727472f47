import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { CUSTOMER_INDEX, devAccount } from '@opentill/devnets/evm/accounts';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import {
  callContract,
  DEV_TOKEN_ADDRESSES,
  deployContract,
  deployDevTokens,
  headHeight,
  mine,
  payNative,
  payToken,
  setBlockTime,
  tokenBalance,
} from '@opentill/devnets/evm/start-evm-devnet';
import type { Gateway } from '@opentill/local/start-gateway';
import { findFreePort } from '@opentill/test-servers/free-port';
import {
  localNetwork,
  PAYMENT_BASE_UNITS,
  type BenchFamily,
  type PayingDevnet,
  type PayoutChain,
  type PayoutChainOptions,
} from './family.ts';

const CHAIN = 'ETH_SEPOLIA';
const CHAIN_ID = 11_155_111;
const USDT = DEV_TOKEN_ADDRESSES.USDT.toLowerCase();
const RICH_ACCOUNT = 2;
/** `confirmations` of local.json. The payment's block counts as the first. */
const CONFIRMATIONS = 3;
/** EIP-7825 caps a transaction at 2^24 gas; a transfer to a new holder takes about 40,000. */
const TRANSFERS_PER_TRANSACTION = 250;
const TRANSACTION_GAS = 16_000_000n;
const BLOCK_GAS = '0x3b9aca00';

/** Pays many orders in one transaction through a contract, so that payments cost the node little. */
async function takeOver({ chains }: Gateway): Promise<PayingDevnet> {
  const rpcUrl = chains.find(({ network }) => network.chain === CHAIN)?.node.rpcUrl;
  if (rpcUrl === undefined) throw new Error(`the gateway has no ${CHAIN} devnet`);
  const fromKey = devAccount(RICH_ACCOUNT).privateKey;
  const contract = 'TransferBatch' as const;
  const address = await deployContract({ rpcUrl, fromKey, contract });
  const amountBaseUnits = PAYMENT_BASE_UNITS * 1_000_000n;
  await payToken({ rpcUrl, token: USDT, fromKey, to: address, amountBaseUnits });
  await callRpc(rpcUrl, 'evm_setBlockGasLimit', [BLOCK_GAS]);
  await setBlockTime(rpcUrl, 0);
  await mine({ rpcUrl, blocks: 2 }); // the gas limit applies from the second block on
  return {
    blocksToSuccess: CONFIRMATIONS - 1,
    async queue(addresses) {
      const items = addresses.map((to) => ({ token: USDT, to, amount: PAYMENT_BASE_UNITS }));
      for (let start = 0; start < items.length; start += TRANSFERS_PER_TRANSACTION) {
        const methodArguments = [items.slice(start, start + TRANSFERS_PER_TRANSACTION)];
        const call = { contract, address, method: 'send', methodArguments, gasLimit: TRANSACTION_GAS };
        await callContract({ rpcUrl, fromKey, ...call });
      }
    },
    async mine() {
      await mine({ rpcUrl, blocks: 1 });
      return headHeight(rpcUrl);
    },
  };
}

async function startPayoutChain({ dir, maxOpen }: PayoutChainOptions): Promise<PayoutChain> {
  const anvil = await startAnvil({ dir: join(dir, 'anvil'), port: await findFreePort(), chainId: CHAIN_ID });
  const { rpcUrl } = anvil;
  await setBlockTime(rpcUrl, 0);
  await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  const network = await localNetwork('EVM', CHAIN, { url: rpcUrl, maxOpen });
  const terms = payoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`${CHAIN} has no payout terms`);
  return {
    network,
    contract: USDT,
    paying: (keys) => ({
      kind: 'NONCES',
      network,
      terms,
      codec: evmFamily.addressCodec,
      sender: createEvmSender(network, { backend: keys }),
      reader: evmFamily.createReader(network, {}),
    }),
    async fund(to, amountBaseUnits) {
      const fromKey = devAccount(CUSTOMER_INDEX).privateKey;
      await payNative({ rpcUrl, fromKey, to, amountWei: 1_000n * 10n ** 18n });
      await payToken({ rpcUrl, token: USDT, fromKey, to, amountBaseUnits });
      await mine({ rpcUrl, blocks: 5 });
      await setBlockTime(rpcUrl, network.blockTimeMs / 1_000);
    },
    newReceiver: () => `0x${randomBytes(20).toString('hex')}`,
    balanceOf: (receiver) => tokenBalance(rpcUrl, USDT, receiver),
    countSent: async (wallet) =>
      Number(await callRpc<string>(rpcUrl, 'eth_getTransactionCount', [wallet, 'latest'])),
    stop: () => anvil.stop('kill'),
  };
}

export const evm: BenchFamily = {
  family: 'EVM',
  codec: evmFamily.addressCodec,
  scanner: 'scanner-evm',
  chain: CHAIN,
  takeOver,
  startPayoutChain,
  mainnet: 'ETH',
  depth: 11,
  tokenShare: 1,
  nodeForm: (contract) => contract.toLowerCase(),
  storedAddress: (hex) => `0x${hex.slice(0, 40)}`,
};
