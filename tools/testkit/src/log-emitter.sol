// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

contract LogEmitter {
    struct Log { address at; bytes32[] topics; bytes data; }

    function decimals() external pure returns (uint8) { return 6; }

    /// Emits each log from the contract at `at`, in order, in one transaction.
    function emitAll(Log[] calldata logs, bool fail) external {
        for (uint256 i = 0; i < logs.length; i++) LogEmitter(logs[i].at).emitOne(logs[i].topics, logs[i].data);
        require(!fail, "failure requested");
    }

    function emitOne(bytes32[] calldata t, bytes calldata data) external {
        bytes memory d = data;
        uint256 n = t.length;
        bytes32 t0 = n > 0 ? t[0] : bytes32(0);
        bytes32 t1 = n > 1 ? t[1] : bytes32(0);
        bytes32 t2 = n > 2 ? t[2] : bytes32(0);
        bytes32 t3 = n > 3 ? t[3] : bytes32(0);
        assembly {
            let at := add(d, 32)
            let size := mload(d)
            switch n
            case 0 { log0(at, size) }
            case 1 { log1(at, size, t0) }
            case 2 { log2(at, size, t0, t1) }
            case 3 { log3(at, size, t0, t1, t2) }
            default { log4(at, size, t0, t1, t2, t3) }
        }
    }
}
