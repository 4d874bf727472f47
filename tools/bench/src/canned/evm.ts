import { createHash } from 'node:crypto';
import { bloomBits } from '@opentill/chain-evm/bloom';
import {
  latin1,
  paidHex,
  paysDeposit,
  sha,
  timeSecondsOf,
  type CannedChain,
  type CannedPlan,
  type Heads,
} from './plan.ts';

interface Block {
  readonly hash: string;
  readonly header: Buffer;
  /** JSON array without its brackets. */
  readonly logs: Buffer;
  readonly transactionHashes: readonly string[];
  receipts?: Buffer;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const STRANGERS = 20_000;
const BLOOM_BYTES = 256;
const ZEROS = '0'.repeat(24);
const [OPEN, CLOSE, COMMA, NULL] = ['[', ']', ',', 'null'].map(latin1) as [Buffer, Buffer, Buffer, Buffer];

const quantity = (value: number): string => `0x${value.toString(16)}`;
const accountTopic = (address: string): string => `0x${ZEROS}${address.slice(2)}`;

export function createCannedEvm(plan: CannedPlan): CannedChain {
  const strangers = Array.from(
    { length: STRANGERS },
    (_, i) => `0x${sha(`${plan.seed} stranger ${i}`).slice(24)}`,
  );
  const ours = paidHex(40).map((hex) => `0x${hex}`);
  const bits = new Map<string, readonly number[]>();
  const blocks = new Map<number, Block>();
  const heights = new Map<string, number>();
  const placeOf = new Map<string, { readonly height: number; readonly place: number }>();
  const hashOf = (height: number): string =>
    height < 0 ? `0x${'0'.repeat(64)}` : `0x${sha(`${plan.seed} block ${height}`)}`;
  const timeOf = (height: number): string => quantity(timeSecondsOf(plan, height));

  function transferOf(height: number, place: number) {
    const draw = createHash('sha256').update(`${plan.seed} ${height} ${place}`).digest();
    const isDeposit = paysDeposit(plan, height, place);
    const receivers = isDeposit ? ours : strangers;
    return {
      token: plan.tokens[draw.readUInt8(0) % plan.tokens.length]!,
      from: strangers[draw.readUInt32LE(8) % STRANGERS]!,
      to: receivers[draw.readUInt32LE(4) % receivers.length]!,
      amount: 1 + draw.readUInt32LE(12),
      transactionHash: `0x${draw.toString('hex')}`,
    };
  }

  function logJson(height: number, place: number): string {
    const { token, from, to, amount, transactionHash } = transferOf(height, place);
    return (
      `{"address":"${token}","topics":["${TRANSFER_TOPIC}","${accountTopic(from)}","${accountTopic(to)}"],` +
      `"data":"0x${amount.toString(16).padStart(64, '0')}","blockNumber":"${quantity(height)}",` +
      `"transactionHash":"${transactionHash}","transactionIndex":"${quantity(place)}","blockHash":"${hashOf(height)}",` +
      `"blockTimestamp":"${timeOf(height)}","logIndex":"${quantity(place)}","removed":false}`
    );
  }

  function bloomOf(height: number, places: readonly number[]): string {
    const bloom = Buffer.alloc(BLOOM_BYTES);
    for (const place of places) {
      const { token, from, to } = transferOf(height, place);
      for (const value of [token, TRANSFER_TOPIC, accountTopic(from), accountTopic(to)]) {
        const known = bits.get(value) ?? bloomBits(value);
        bits.set(value, known);
        for (const bit of known) bloom[BLOOM_BYTES - 1 - (bit >> 3)]! |= 1 << (bit & 7);
      }
    }
    return `0x${bloom.toString('hex')}`;
  }

  function receiptJson(height: number, place: number, hash: string): string {
    const isTransfer = place < plan.transfersPerBlock;
    const { from, token } = transferOf(height, place);
    return (
      `{"transactionHash":"${hash}","transactionIndex":"${quantity(place)}","blockHash":"${hashOf(height)}",` +
      `"blockNumber":"${quantity(height)}","from":"${from}","to":"${token}","cumulativeGasUsed":"0x989680",` +
      `"gasUsed":"0xb41d","effectiveGasPrice":"0x3b9aca00","contractAddress":null,"type":"0x2","status":"0x1",` +
      `"logs":[${isTransfer ? logJson(height, place) : ''}],"logsBloom":"${bloomOf(height, isTransfer ? [place] : [])}"}`
    );
  }

  function make(height: number): void {
    const places = Array.from({ length: plan.transfersPerBlock }, (_, place) => place);
    const paid = places.map((place) => transferOf(height, place).transactionHash);
    const others = Array.from(
      { length: plan.otherTransactions },
      (_, i) => `0x${sha(`${plan.seed} other ${height} ${i}`)}`,
    );
    const transactionHashes = [...paid, ...others];
    const root = (name: string): string => `0x${sha(`${name} ${height}`)}`;
    const header =
      `{"number":"${quantity(height)}","hash":"${hashOf(height)}","parentHash":"${hashOf(height - 1)}",` +
      `"nonce":"0x0000000000000000","sha3Uncles":"${root('uncles')}","logsBloom":"${bloomOf(height, places)}",` +
      `"transactionsRoot":"${root('transactions')}","stateRoot":"${root('state')}","receiptsRoot":"${root('receipts')}",` +
      `"miner":"${strangers[0]!}","difficulty":"0x0","extraData":"0x${sha('extra')}","size":"0x9c40",` +
      `"gasLimit":"0x2255100","gasUsed":"0x989680","timestamp":"${timeOf(height)}","mixHash":"${root('mix')}",` +
      `"baseFeePerGas":"0x3b9aca00","withdrawalsRoot":"${root('withdrawals')}","blobGasUsed":"0x0","excessBlobGas":"0x0",` +
      `"parentBeaconBlockRoot":"${root('beacon')}","transactions":[${transactionHashes.map((hash) => `"${hash}"`).join(',')}],` +
      `"uncles":[],"withdrawals":[]}`;
    const logs = places.map((place) => logJson(height, place)).join(',');
    heights.set(hashOf(height), height);
    paid.forEach((hash, place) => placeOf.set(hash, { height, place }));
    blocks.set(height, {
      hash: hashOf(height),
      header: latin1(header),
      logs: latin1(logs),
      transactionHashes,
    });
  }

  function receiptsOf(height: number, block: Block): Buffer {
    const receipts = block.transactionHashes.map((hash, place) => receiptJson(height, place, hash));
    return (block.receipts ??= latin1(`[${receipts.join(',')}]`));
  }

  /** Accepts a number, a hash or a tag. Undefined if the block does not exist. */
  function heightOf(named: unknown, { latest, final }: Heads): number | undefined {
    if (named === 'latest') return latest;
    if (named === 'finalized') return final;
    const height = String(named).length === 66 ? heights.get(String(named)) : Number(named);
    return height !== undefined && height <= latest ? height : undefined;
  }

  function logsOf(filter: Readonly<Record<string, unknown>>, heads: Heads): readonly Buffer[] {
    const { blockHash, fromBlock = blockHash, toBlock = blockHash } = filter;
    const from = heightOf(fromBlock, heads) ?? Number.POSITIVE_INFINITY;
    const to = heightOf(toBlock, heads) ?? heads.latest;
    const parts: Buffer[] = [OPEN];
    for (let height = from; height <= to; height += 1) {
      const logs = blocks.get(height)?.logs ?? Buffer.of();
      if (logs.length === 0) continue;
      if (parts.length > 1) parts.push(COMMA);
      parts.push(logs);
    }
    return [...parts, CLOSE];
  }

  function answerCall({ method, params: [first] }: Call, heads: Heads): readonly Buffer[] {
    const height = heightOf(first, heads);
    const block = blocks.get(height ?? -1);
    switch (method) {
      case 'eth_chainId':
        return [latin1(`"${quantity(plan.chainId)}"`)];
      case 'eth_blockNumber':
        return [latin1(`"${quantity(heads.latest)}"`)];
      case 'eth_getCode':
        return [latin1('"0x6080604052"')];
      case 'eth_call':
        return [latin1(`"0x${plan.decimals.toString(16).padStart(64, '0')}"`)];
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash':
        return [block?.header ?? NULL];
      case 'eth_getLogs':
        return logsOf(first as Readonly<Record<string, unknown>>, heads);
      case 'eth_getTransactionReceipt': {
        const at = placeOf.get(String(first));
        return [at === undefined ? NULL : latin1(receiptJson(at.height, at.place, String(first)))];
      }
      case 'eth_getBlockReceipts':
        return [block === undefined ? NULL : receiptsOf(height ?? 0, block)];
      default:
        throw new Error(`not canned: ${method}`);
    }
  }

  return {
    genesisId: '',
    contentType: 'application/json',
    facts: (height) => ({
      height,
      hash: hashOf(height),
      parentHash: hashOf(height - 1),
      timeSeconds: timeSecondsOf(plan, height),
    }),
    make,
    forget(height) {
      const block = blocks.get(height);
      blocks.delete(height);
      heights.delete(block?.hash ?? '');
      for (const hash of block?.transactionHashes ?? []) placeOf.delete(hash);
    },
    answer(_path, body, heads, count) {
      const asked = JSON.parse(body) as Call | readonly Call[];
      const answers = [asked].flat().map((call) => {
        count(call.method);
        const result = answerCall(call, heads);
        return [latin1(`{"jsonrpc":"2.0","id":${call.id},"result":`), ...result, latin1('}')];
      });
      if (!Array.isArray(asked)) return answers.flat();
      return [OPEN, ...answers.flatMap((parts, place) => (place === 0 ? parts : [COMMA, ...parts])), CLOSE];
    },
  };
}
