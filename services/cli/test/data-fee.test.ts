import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEV_TOKEN_ADDRESSES } from '@opentill/devnets/evm/start-evm-devnet';
import type { Chain } from '@opentill/domain/chains';
import { systemClock } from '@opentill/runtime/clock';
import { findFreePort } from '@opentill/test-servers/free-port';
import { createByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import { evmDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { startOpStackNode, type OpStackNode } from '@opentill/testkit/op-stack-node';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { examineNetwork } from '../src/doctor/examine-network.ts';

const PRICES = {
  baseFee: 30_000_000_000n,
  baseFeeScalar: 5_000n,
  blobBaseFee: 1n,
  blobBaseFeeScalar: 800_000n,
  operatorFeeConstant: 123_456n,
  operatorFeeScalar: 2_000_000n,
};

let folder: string;
let node: OpStackNode;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-data-fee-'));
  node = await startOpStackNode({
    dir: folder,
    port: await findFreePort(),
    chainId: 424_242,
    slotsInAnEpoch: 1,
    prices: PRICES,
  });
  await node.setPrices(PRICES); // a transaction that paid them
});
afterAll(async () => {
  await node.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function findingAt(rpcUrl: string, dataFee?: NetworkConfig['dataFee']) {
  const network = evmDevnetNetwork(
    { rpcUrl, wsUrl: '' },
    {
      chain: 'ACME_L2' as Chain,
      chainId: 424_242,
      kind: 'test',
      ...(dataFee && { dataFee }),
      tokens: [
        {
          symbol: 'USDC',
          contract: DEV_TOKEN_ADDRESSES.USDC,
          decimals: 6,
          displayDecimals: 2,
          minAmount: '1',
          maxAmount: null,
        },
      ],
    },
  );
  const { wsUrl: _, ...withoutSocket } = network;
  const findings = await examineNetwork(withoutSocket, systemClock);
  return findings.find(({ check }) => check === 'data fee');
}

it('compares the estimate of the data fee with what a recent transaction paid', async () => {
  const finding = await findingAt(node.rpcUrl, 'op-stack');
  expect(finding).toMatchObject({
    outcome: 'ok',
    detail: expect.stringMatching(/paid \d+ wei for its data/),
  });
});

it('fails at a node whose receipts or fees are missing, and without the setting', async () => {
  expect(await findingAt(node.anvilUrl, 'op-stack')).toMatchObject({
    outcome: 'fail',
    detail: expect.stringContaining('l1Fee'),
  });
  const proxy = await createByzantineRpcProxy({
    upstreamUrl: node.rpcUrl,
    seed: 1,
    override: async ({ method }) => (method === 'eth_getTransactionReceipt' ? { result: null } : undefined),
  });
  try {
    expect(await findingAt(proxy.url, 'op-stack')).toMatchObject({
      outcome: 'fail',
      detail: expect.stringContaining('no receipt of 0x'),
    });
  } finally {
    await proxy.close();
  }
  expect(await findingAt(node.rpcUrl)).toMatchObject({
    outcome: 'fail',
    mend: expect.stringContaining('Set "dataFee": "op-stack"'),
  });
});
