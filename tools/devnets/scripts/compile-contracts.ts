import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/*
 * Compiles contracts/*.sol to artifacts/*.json, which are committed so that nobody needs a compiler:
 *   node tools/devnets/scripts/compile-contracts.ts
 * A test compares the two.
 */
const SOURCE = join(import.meta.dirname, '..', 'src');

export interface ContractSet {
  /** Holds `contracts` and `artifacts`. */
  readonly directory: string;
  readonly evmVersion: string;
}

/** For EVM chains, and for TRON, whose machine lacks some of what came after London. */
export const CONTRACT_SETS: readonly ContractSet[] = [
  { directory: join(SOURCE, 'evm'), evmVersion: 'shanghai' },
  { directory: join(SOURCE, 'tron'), evmVersion: 'london' },
];

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<
    Record<string, Record<string, { abi: unknown; evm: { bytecode: { object: string } } }>>
  >;
}

/** File name → content of every artifact. Throws on the compiler's errors and warnings. */
export function compileContracts({ directory, evmVersion }: ContractSet): Map<string, string> {
  const contractsFolder = join(directory, 'contracts');
  const solc = createRequire(import.meta.url)('solc') as {
    compile(input: string): string;
    version(): string;
  };
  const sources = readdirSync(contractsFolder).filter((file) => file.endsWith('.sol'));
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      sources.map((file) => [file, { content: readFileSync(join(contractsFolder, file), 'utf8') }]),
    ),
    settings: {
      evmVersion,
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
  if (output.errors?.length) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'));

  const artifacts = new Map<string, string>();
  for (const contracts of Object.values(output.contracts)) {
    for (const [contractName, { abi, evm }] of Object.entries(contracts)) {
      if (evm.bytecode.object === '') continue; // an interface
      const artifact = { contractName, compiler: solc.version(), abi, bytecode: `0x${evm.bytecode.object}` };
      artifacts.set(`${contractName}.json`, `${JSON.stringify(artifact, null, 2)}\n`);
    }
  }
  return artifacts;
}

if (import.meta.main) {
  for (const set of CONTRACT_SETS) {
    for (const [file, content] of compileContracts(set)) {
      writeFileSync(join(set.directory, 'artifacts', file), content);
      console.log(file);
    }
  }
}
