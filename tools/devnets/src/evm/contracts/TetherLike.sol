// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IUpgradedTether {
    function balanceOf(address who) external view returns (uint256);
    function transferByLegacy(address from, address to, uint256 value) external;
    function transferFromByLegacy(address spender, address from, address to, uint256 value) external;
    function approveByLegacy(address from, address spender, uint256 value) external;
}

/// Test token that behaves like Tether's contract on Ethereum, unlike a plain ERC-20:
/// transfer, transferFrom and approve return nothing; a fee can reduce the amount that arrives; the black list
/// blocks only senders; an allowance must be reset to zero before it is changed; issue, redeem and
/// destroyBlackFunds change balances without a Transfer event; once deprecated, another contract emits the events.
contract TetherLike {
    address public owner;
    bool public paused;
    bool public deprecated;
    address public upgradedAddress;
    string public name;
    string public symbol;
    uint256 public decimals;
    uint256 public basisPointsRate;
    uint256 public maximumFee;
    uint256 private supply;
    mapping(address => uint256) private balances;
    mapping(address => mapping(address => uint256)) private allowed;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Issue(uint256 amount);
    event Redeem(uint256 amount);
    event Deprecate(address newAddress);
    event Params(uint256 feeBasisPoints, uint256 maxFee);
    event DestroyedBlackFunds(address blackListedUser, uint256 balance);
    event AddedBlackList(address user);
    event RemovedBlackList(address user);
    event Pause();
    event Unpause();

    modifier onlyOwner() {
        require(msg.sender == owner, "not the owner");
        _;
    }

    modifier whenNotPaused() {
        require(!paused, "paused");
        _;
    }

    constructor(uint256 decimals_, string memory name_, string memory symbol_, uint256 initialSupply) {
        owner = msg.sender;
        decimals = decimals_;
        name = name_;
        symbol = symbol_;
        supply = initialSupply;
        balances[msg.sender] = initialSupply; // no Transfer event, as in the original
    }

    function totalSupply() external view returns (uint256) {
        return supply;
    }

    function balanceOf(address who) external view returns (uint256) {
        return deprecated ? IUpgradedTether(upgradedAddress).balanceOf(who) : balances[who];
    }

    function allowance(address from, address spender) external view returns (uint256) {
        return allowed[from][spender];
    }

    function transfer(address to, uint256 value) external whenNotPaused {
        require(!isBlackListed[msg.sender], "black listed");
        if (deprecated) IUpgradedTether(upgradedAddress).transferByLegacy(msg.sender, to, value);
        else move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external whenNotPaused {
        require(!isBlackListed[from], "black listed");
        if (deprecated) {
            IUpgradedTether(upgradedAddress).transferFromByLegacy(msg.sender, from, to, value);
            return;
        }
        uint256 remaining = allowed[from][msg.sender];
        if (remaining < type(uint256).max) allowed[from][msg.sender] = remaining - value;
        move(from, to, value);
    }

    function approve(address spender, uint256 value) external {
        if (deprecated) {
            IUpgradedTether(upgradedAddress).approveByLegacy(msg.sender, spender, value);
            return;
        }
        require(value == 0 || allowed[msg.sender][spender] == 0, "reset the allowance to zero first");
        allowed[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
    }

    function move(address from, address to, uint256 value) private {
        uint256 fee = (value * basisPointsRate) / 10_000;
        if (fee > maximumFee) fee = maximumFee;
        balances[from] -= value;
        balances[to] += value - fee;
        if (fee > 0) {
            balances[owner] += fee;
            emit Transfer(from, owner, fee);
        }
        emit Transfer(from, to, value - fee);
    }

    function setParams(uint256 newBasisPoints, uint256 newMaxFee) external onlyOwner {
        require(newBasisPoints < 20 && newMaxFee < 50, "fee too high");
        basisPointsRate = newBasisPoints;
        maximumFee = newMaxFee * 10 ** decimals;
        emit Params(basisPointsRate, maximumFee);
    }

    function pause() external onlyOwner {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyOwner {
        paused = false;
        emit Unpause();
    }

    function addBlackList(address user) external onlyOwner {
        isBlackListed[user] = true;
        emit AddedBlackList(user);
    }

    function removeBlackList(address user) external onlyOwner {
        isBlackListed[user] = false;
        emit RemovedBlackList(user);
    }

    function destroyBlackFunds(address user) external onlyOwner {
        require(isBlackListed[user], "not black listed");
        uint256 dirty = balances[user];
        balances[user] = 0;
        supply -= dirty;
        emit DestroyedBlackFunds(user, dirty);
    }

    function deprecate(address newAddress) external onlyOwner {
        deprecated = true;
        upgradedAddress = newAddress;
        emit Deprecate(newAddress);
    }

    function issue(uint256 amount) external onlyOwner {
        balances[owner] += amount;
        supply += amount;
        emit Issue(amount);
    }

    function redeem(uint256 amount) external onlyOwner {
        balances[owner] -= amount;
        supply -= amount;
        emit Redeem(amount);
    }
}

/// Implementation behind a deprecated TetherLike. It stores its own balances and emits events from its own address.
contract UpgradedTether {
    address public immutable legacy;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    modifier onlyLegacy() {
        require(msg.sender == legacy, "not the legacy contract");
        _;
    }

    constructor(address legacy_, address holder, uint256 supply) {
        legacy = legacy_;
        balanceOf[holder] = supply;
    }

    function transferByLegacy(address from, address to, uint256 value) external onlyLegacy {
        move(from, to, value);
    }

    function transferFromByLegacy(address spender, address from, address to, uint256 value) external onlyLegacy {
        allowance[from][spender] -= value;
        move(from, to, value);
    }

    function approveByLegacy(address from, address spender, uint256 value) external onlyLegacy {
        allowance[from][spender] = value;
        emit Approval(from, spender, value);
    }

    function move(address from, address to, uint256 value) private {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
